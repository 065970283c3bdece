// SPDX-License-Identifier: MIT
// A callback in the ready queue, or on its way there through a timer.
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/base/unique_function.hpp>
#include <weir/detail/context.hpp>
#include <weir/detail/done_callbacks.hpp>
#include <weir/loop.hpp>

#include <source_location>
#include <utility>

namespace weir::detail {

// Counted: the queue or the timer holds one reference, each callback_handle another.
struct scheduled_call final : ready_item, timer {
    loop* home;
    unique_function<void()> callback;
    context_values* context = nullptr;  // task-local values at registration; owned
    clock::time_point when{};
    std::source_location registered;
    bool is_cancelled = false;

    scheduled_call(loop& at, unique_function<void()> function, std::source_location where) noexcept
        : home(&at), callback(std::move(function)), registered(where) {
        flags = is_callback;
    }
    ~scheduled_call() { release_context(context); }

    void fire() noexcept override;
    bool keeps_order() const noexcept override { return true; }
    // Runs the callback with the task-local values of its registration, reports an error that it
    // throws, and drops the queue's reference.
    void run() noexcept;
    // It will not run: drops the callback and the queue's or the timer's reference.
    void discard() noexcept {
        drop_callback();
        release();
    }
    void drop_callback() noexcept {
        unique_function<void()> dropped = std::move(callback);  // its destructor may come back here
        release_context(std::exchange(context, nullptr));
    }
    void release() noexcept {
        if (--references == 0) {
            delete this;
        }
    }
};

}  // namespace weir::detail
