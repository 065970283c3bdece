// SPDX-License-Identifier: MIT
// timeout and timeout_or: a limit on the time of some work.
#pragma once

#include <weir/detail/timed_scope.hpp>
#include <weir/detail/to_task.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir {

namespace detail {

template <class T>
class timeout_call final : public scoped_call<timeout_call<T>, T> {
public:
    timeout_call(task<T>&& work, clock::time_point deadline)
        : scoped_call<timeout_call, T>(std::move(work), deadline, timed_scope::expiry::before_start) {}

    T await_resume() {
        if (this->ended_by_own_stop()) {
            throw timed_out();
        }
        return this->take();
    }
};

template <class T, class Fallback>
class timeout_or_call final : public scoped_call<timeout_or_call<T, Fallback>, T> {
public:
    timeout_or_call(task<T>&& work, clock::time_point deadline, Fallback fallback)
        : scoped_call<timeout_or_call, T>(std::move(work), deadline, timed_scope::expiry::before_start),
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

template <class Rep, class Period>
clock::time_point deadline_after(std::chrono::duration<Rep, Period> limit) {
    return after(now(), to_nanoseconds(limit));
}

}  // namespace detail

// co_await timeout(1s, work): the work's result, or timed_out. At the deadline the work is stopped and
// its clean-up awaited; work that answers the stop with a value or an error of its own is listened to.
// With no time left, work is not even started. A timed_out thrown by the work itself is passed on.
template <class Rep, class Period, detail::task_like Work>
auto timeout(std::chrono::duration<Rep, Period> limit, Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::timeout_call<detail::task_value_t<Work>>(detail::to_task(std::forward<Work>(work)),
                                                            detail::deadline_after(limit));
}
template <detail::task_like Work>
auto timeout_at(clock::time_point deadline, Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::timeout_call<detail::task_value_t<Work>>(detail::to_task(std::forward<Work>(work)),
                                                            deadline);
}

// The same, with a value in place of timed_out.
template <class Rep, class Period, detail::task_like Work, class Fallback>
auto timeout_or(std::chrono::duration<Rep, Period> limit, Work&& work, Fallback fallback) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::timeout_or_call<detail::task_value_t<Work>, Fallback>(
        detail::to_task(std::forward<Work>(work)), detail::deadline_after(limit), std::move(fallback));
}

}  // namespace weir
