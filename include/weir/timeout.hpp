// SPDX-License-Identifier: MIT
// timeout and timeout_or: a limit on the time of some work.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/detail/timed_scope.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir {

namespace detail {

template <class T>
class WEIR_MUST_AWAIT timeout_call final : public scoped_call<timeout_call<T>, T> {
public:
    timeout_call(task<T>&& work, clock::time_point deadline, timed_scope::expiry late)
        : scoped_call<timeout_call, T>(std::move(work), deadline, late) {}

    T await_resume() {
        if (this->ended_by_own_stop()) {
            this->throw_timed_out();
        }
        return this->take();
    }
};

template <class T, class Fallback>
class WEIR_MUST_AWAIT timeout_or_call final : public scoped_call<timeout_or_call<T, Fallback>, T> {
public:
    timeout_or_call(task<T>&& work, clock::time_point deadline, timed_scope::expiry late,
                    Fallback fallback)
        : scoped_call<timeout_or_call, T>(std::move(work), deadline, late),
          fallback_(std::move(fallback)) {}

    T await_resume() {
        if (this->ended_by_own_stop()) {
            return static_cast<T>(std::move(fallback_));
        }
        return this->take();
    }

private:
    Fallback fallback_;
};

// With no time left: work is not started, a running task is cancelled, and a single operation
// succeeds if it can without waiting.
template <class Work>
inline constexpr timed_scope::expiry late_start =
    !makes_operation<Work> && !leaf_operation<Work>            ? timed_scope::expiry::before_start
    : std::derived_from<std::remove_cvref_t<Work>, any_handle> ? timed_scope::expiry::at_next_turn
                                                               : timed_scope::expiry::at_suspension;

template <class Rep, class Period>
clock::time_point deadline_after(std::chrono::duration<Rep, Period> limit) {
    return after(now(), to_nanoseconds(limit));
}

}  // namespace detail

// The earliest deadline of the timeouts and scopes around the running code, those around the groups
// and gathers it belongs to included; the end of time if there is none. An attempt that cannot
// succeed until then need not be made.
clock::time_point current_deadline() noexcept;

// co_await timeout(1s, work), or timeout_at(deadline, work): the work's result, or timed_out. At
// the deadline the work is stopped and its clean-up awaited; work that answers the stop with a
// value or an error of its own is listened to. With no time left, work is not even started; a
// handle is cancelled, unless its task has ended; and an operation gets what it can have without
// waiting. A timed_out thrown by the work itself is passed on.
//
// A component that knows that its wait would last past the deadline does not wait, a rate limiter
// for example: it refuses at once, with the reason past_deadline. Code inside may handle that as
// any refusal. If it leaves the timeout or scope whose deadline it is, it is the end of the time
// there, only earlier: timed_out, the fallback value of timeout_or, the empty result of a scope.
template <detail::task_like Work>
auto timeout_at(clock::time_point deadline, Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::timeout_call<detail::task_value_t<Work>>(
        detail::to_task(std::forward<Work>(work)), deadline, detail::late_start<Work>);
}
template <class Rep, class Period, detail::task_like Work>
auto timeout(std::chrono::duration<Rep, Period> limit, Work&& work) {
    return timeout_at(detail::deadline_after(limit), std::forward<Work>(work));
}

// The same, with a value in place of timed_out.
template <class Rep, class Period, detail::task_like Work, class Fallback>
auto timeout_or(std::chrono::duration<Rep, Period> limit, Work&& work, Fallback fallback) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::timeout_or_call<detail::task_value_t<Work>, Fallback>(
        detail::to_task(std::forward<Work>(work)), detail::deadline_after(limit),
        detail::late_start<Work>, std::move(fallback));
}

// What is no work: what to write instead.
template <class Work>
    requires(!detail::task_like<Work>)
detail::refused_call timeout_at(clock::time_point, Work&&) {
    detail::explain_work<Work>();
    return {};
}
template <class Rep, class Period, class Work>
    requires(!detail::task_like<Work>)
detail::refused_call timeout(std::chrono::duration<Rep, Period>, Work&&) {
    detail::explain_work<Work>();
    return {};
}
template <class Rep, class Period, class Work, class Fallback>
    requires(!detail::task_like<Work>)
detail::refused_call timeout_or(std::chrono::duration<Rep, Period>, Work&&, Fallback&&) {
    detail::explain_work<Work>();
    return {};
}

}  // namespace weir
