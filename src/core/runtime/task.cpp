// SPDX-License-Identifier: MIT
// Tasks that are never run: destroyed unawaited, or used twice.

#include "base/source_place.hpp"
#include "core/debug/fiber_names.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace weir::detail {

namespace {

// The public functions whose coroutines these are.
constexpr std::pair<std::string_view, std::string_view> public_names[] = {
    {"weir::detail::gather_", "weir::gather"},
    {"weir::detail::settle_", "weir::gather_settled"},
    {"weir::detail::race_", "weir::race"},
    {"weir::detail::run_group", "weir::with_group"},
    {"weir::detail::scoped", "weir::with_scope"},
    {"weir::detail::use_and_close", "weir::with"},
    {"weir::detail::await_", "an operation"},
    {"weir::detail::call_owned", "a function"},
    {"weir::detail::run_with_token", "weir::with_stop_token"},
    {"weir::detail::open_use_and_close", "weir::with"},
    {"weir::detail::wait_for_handles", "weir::wait"},
    {"weir::detail::hedge_once", "weir::hedge"},
    {"weir::detail::retry_once", "weir::retry"},
    {"weir::detail::fall_back", "weir::fallback"},
    {"weir::detail::run_batches", "weir::batch"},
    {"weir::detail::run_consumers", "weir::consume"},
    {"weir::detail::run_producers_and_consumers", "weir::produce_and_consume"},
    {"weir::detail::run_producers", "weir::produce"},
    {"weir::detail::call_under", "run() of a policy"},
    {"weir::detail::call_when_admitted", "run() of a policy"},
};

// Which coroutine was called. It has not run, so the place it is at is its beginning; for one of
// the library's own, the coroutine that called it says more.
std::string describe_call(const promise_base& unstarted) {
    const std::string name = plain_function_name(unstarted.here.function_name());
    if (!name.starts_with("weir::")) {
        return name + " (" + describe_place(unstarted.here) + ") was called";
    }
    for (const auto& [prefix, public_name] : public_names) {
        if (name.starts_with(prefix)) {
            return std::string(public_name) + " was called" + describe_caller();
        }
    }
    return name + " was called" + describe_caller();
}

void report_never_awaited(std::string what) noexcept {
    static_cast<loop*>(this_thread.loop)
        ->tell({report_kind::never_awaited, std::move(what), nullptr, current_task(), {}});
}

// Not for arguments of a call that has thrown: the exception says more.
bool reports_never_awaited() noexcept {
    return this_thread.loop != nullptr && this_thread.loop->debug() && !this_thread.is_discarding &&
           std::uncaught_exceptions() == 0;
}

}  // namespace

void discard_unawaited(promise_base& frame, std::coroutine_handle<> coroutine) noexcept {
    if (reports_never_awaited()) {
        report_never_awaited(describe_call(frame) +
                             ", but its task was destroyed without being awaited or spawned");
    }
    const discarding unreported;  // its arguments go with it
    coroutine.destroy();
}

void report_unawaited_work(promise_base& frame) noexcept {
    if (reports_never_awaited()) {
        report_never_awaited(describe_call(frame) +
                             ", but what its task was given to was never awaited: write co_await");
    }
}

void report_unawaited_call(const char* function) noexcept {
    if (reports_never_awaited()) {
        report_never_awaited(std::string(function) + " was called" + describe_caller() +
                             ", but never awaited: write co_await");
    }
}

std::exception_ptr error_of(const promise_base& ended, std::exception_ptr own) noexcept {
    if (own != nullptr) {
        return own;
    }
    return std::make_exception_ptr(invalid_state(
        plain_function_name(ended.here.function_name()) + " (" + describe_place(ended.here) +
        " or after) ended without a co_return, and its task has no value"));
}

void throw_consumed_task() {
    throw invalid_state("the task was consumed already: a task can be awaited or spawned once");
}

}  // namespace weir::detail
