// SPDX-License-Identifier: MIT
// sleep, sleep_until and yield.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/clock.hpp>
#include <weir/loop.hpp>
#include <weir/task.hpp>

namespace weir {

namespace detail {

// The lightest of operations: nothing to wait for, nothing to cancel, so it is not even registered,
// and takes no room in the frame.
class WEIR_MUST_AWAIT yield_operation final : public awaited_here {
public:
    using is_light = void;
    void resume() const noexcept {}
};

// Not when a stop is due, not in a step that is nested in another fiber's, which waits for it, and
// not where the loop looks at each step: in debug mode, and while schedules are explored.
inline bool goes_on_alone(thread_state& thread) noexcept {
    if (thread.budget <= 0 || thread.eager_depth != 0 || thread.loop != thread.plain_loop ||
        thread.running->has(stop_pending) || !thread.loop->elides_yields()) {
        return false;
    }
    thread.budget -= yield_cost;
    return true;
}

class WEIR_MUST_AWAIT sleep_operation final : public operation, private timer {
public:
    // A deadline, or for zero and less: one turn of the loop.
    explicit sleep_operation(clock::time_point deadline) noexcept
        : timer(deadline.time_since_epoch().count()) {}
    sleep_operation(sleep_operation&&) noexcept = default;
    ~sleep_operation() {
        if (is_armed()) {
            disarm();
        }
    }

    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "sleep"; }
    void resume() const noexcept {}

private:
    void fire() noexcept override;
    void disarm() noexcept;
};

}  // namespace detail

template <>
class leaf_awaiter<detail::yield_operation> {
public:
    explicit leaf_awaiter(detail::yield_operation&) noexcept {}
    // With nothing else ready, the loop would resume this fiber next: then it goes on at once, as
    // often as a turn of the loop has steps.
    bool await_ready() const noexcept {
        detail::thread_state& thread = detail::this_thread;
        return !thread.loop->has_ready() && detail::goes_on_alone(thread);
    }
    // A stop that is due is found by the loop when the fiber's turn comes.
    void await_suspend(std::coroutine_handle<>) const noexcept {
        detail::thread_state& thread = detail::this_thread;
        thread.loop->push(*thread.running);
    }
    void await_resume() const noexcept {}
};

// Lets everything that is ready run first. A cancellation point.
inline detail::yield_operation yield() noexcept {
    return {};
}

// Suspends for the time given at least; zero or less is one turn of the loop. NaN throws
// invalid_argument; a time beyond the end of the clock is for ever.
template <class Rep, class Period>
detail::sleep_operation sleep(std::chrono::duration<Rep, Period> time) {
    const clock::duration delay = detail::to_nanoseconds(time);
    return detail::sleep_operation(delay <= clock::duration::zero() ? clock::time_point::min()
                                                                    : detail::after(now(), delay));
}

inline detail::sleep_operation sleep_until(clock::time_point when) noexcept {
    return detail::sleep_operation(when);
}

// The same, and gives the value.
template <class Rep, class Period, class T>
task<T> sleep(std::chrono::duration<Rep, Period> time, T value) {
    co_await sleep(time);
    co_return std::move(value);
}

// Never completes; only a stop ends it.
inline detail::sleep_operation sleep_forever() noexcept {
    return detail::sleep_operation(clock::time_point::max());
}

}  // namespace weir
