// SPDX-License-Identifier: MIT
// The errors of handles that cannot be used, and the handle of the running task.

#include "core/runtime/fiber_extras.hpp"

#include <weir/error.hpp>
#include <weir/handle.hpp>

namespace weir {

any_handle current_task() noexcept {
    detail::fiber* running = detail::this_thread.running;
    return running != nullptr ? any_handle(*running) : any_handle();
}

void any_handle::set_name(std::string_view name) const {
    checked().extra().name = name;
}

namespace detail {

void throw_cancelled(const fiber& ended) {
    throw cancelled(stop_reason(ended));
}

// Of an ended task only the reason of the request that ended it counts; a task that has answered a
// request has none.
std::string_view cancel_reason(const fiber& cancelled) noexcept {
    if (cancelled.extras == nullptr || (cancelled.has(is_done) && !cancelled.has(is_cancelled))) {
        return {};
    }
    const request_reason& kept = cancelled.extras->reason;
    return !cancelled.has(is_done) && !kept.pending().empty() ? kept.pending() : kept.delivered();
}

void throw_not_done(const fiber& unfinished, const char* what) {
    throw invalid_state(std::string(what) + " of task " +
                        fiber_name(const_cast<fiber&>(unfinished)) +
                        ": it has not ended yet; co_await the handle");
}

void throw_empty_handle() {
    throw invalid_state("the handle is empty");
}

}  // namespace detail
}  // namespace weir
