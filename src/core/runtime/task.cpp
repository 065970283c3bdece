// SPDX-License-Identifier: MIT
// Tasks that are never run: destroyed unawaited, or used twice.

#include "base/source_place.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir::detail {

void discard_unawaited(promise_base& frame, std::coroutine_handle<> coroutine) noexcept {
    auto* current = static_cast<loop*>(this_thread.loop);
    if (current != nullptr && current->debug() && !this_thread.is_discarding) {
        // It has not run, so the place it is at is its beginning.
        current->tell(
            {report_kind::never_awaited,
             plain_function_name(frame.here.function_name()) + " (" + describe_place(frame.here) +
                 ") was called, but its task was destroyed without being awaited or spawned",
             nullptr,
             current_task(),
             {}});
    }
    const discarding unreported;  // its arguments go with it
    coroutine.destroy();
}

void throw_consumed_task() {
    throw invalid_state("the task was consumed already: a task can be awaited or spawned once");
}

}  // namespace weir::detail
