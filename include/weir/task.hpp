// SPDX-License-Identifier: MIT
// task<T>: a lazy coroutine. Nothing runs until it is awaited (a call, on the same fiber) or
// spawned.
#pragma once

#include <weir/detail/promise.hpp>

#include <coroutine>
#include <utility>

namespace weir {

// Move-only and consumed once, by `co_await std::move(t)` or by handing it to spawn, a group or a
// combinator. Destroying one that never ran destroys its arguments and runs nothing; debug mode
// reports it as never awaited.
template <class T = void>
class [[nodiscard("a task does nothing until it is awaited or spawned")]] task
    : public detail::awaited_here {
public:
    using promise_type = detail::task_promise<T>;
    using value_type = T;

    task() noexcept = default;
    task(task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
    task& operator=(task&& other) noexcept {
        task(std::move(other)).swap(*this);
        return *this;
    }
    ~task() {
        if (frame_) {
            detail::discard_unawaited(frame_.promise(), frame_);
        }
    }

    void swap(task& other) noexcept { std::swap(frame_, other.frame_); }
    bool valid() const noexcept { return static_cast<bool>(frame_); }

    // Destroys the coroutine unstarted, on purpose: no report.
    void discard() noexcept {
        if (frame_) {
            const detail::discarding unreported;
            std::exchange(frame_, {}).destroy();
        }
    }

    // For the library and for authors of combinators: gives up the frame. Throws invalid_state
    // when the task was consumed already.
    void* release_frame() {
        if (!frame_) [[unlikely]] {
            detail::throw_consumed_task();
        }
        return std::exchange(frame_, {}).address();
    }

private:
    friend promise_type;
    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object(place_record where) noexcept {
    know_coroutine(*this, where);
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
template <class T>
task<T&> task_promise<T&>::get_return_object(place_record where) noexcept {
    know_coroutine(*this, where);
    return task<T&>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object(place_record where) noexcept {
    know_coroutine(*this, where);
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

}  // namespace detail
}  // namespace weir
