// SPDX-License-Identifier: MIT
// The insides of a loop that only the library's own sources see.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include <weir/detail/context.hpp>
#include <weir/detail/explorer.hpp>
#include <weir/detail/idle.hpp>
#include <weir/detail/loop_support.hpp>
#include <weir/detail/timer_wheel.hpp>
#include <weir/loop.hpp>

namespace weir::detail {

// A callback in the ready queue, or on its way there through a timer.
struct scheduled_call final : ready_item, timer {
    loop* home;
    unique_function<void()> callback;
    context_values* context = nullptr;
    clock::time_point when{};
    bool is_cancelled = false;

    explicit scheduled_call(loop& at) noexcept : home(&at) { flags = is_callback; }
    ~scheduled_call() { release_context(context); }
    void fire() noexcept override;
    bool keeps_order() const noexcept override { return true; }
    void run() noexcept;
    void drop_callback() noexcept { callback = {}; }
    void release() noexcept {
        if (--references == 0) {
            delete this;
        }
    }
};

// A callback from another thread.
struct posted_call {
    enum class stage : int { waiting, taken, cancelled };
    std::atomic<stage> at{stage::waiting};
    unique_function<void()> callback;
    std::shared_ptr<posted_call> self;  // while it is in the queue
    posted_call* next = nullptr;
};

struct loop_state {
    std::unique_ptr<weir::driver> driver;
    timer_wheel timers;
    std::thread::id thread;
    clock::duration slow_step{};
    clock::duration shutdown_deadline{};
    std::unique_ptr<explorer> exploration;  // null: first in, first out
    idle_operation* idle = nullptr;         // waits until nothing else is ready
    report_handler on_report;
    std::string holder_name;  // debug: the task or callback that runs now

    std::atomic<posted_call*> posted{nullptr};
    std::atomic<bool> is_sleeping{false};
    std::atomic<bool> is_accepting{true};  // false: closed
    std::atomic<std::size_t> outside_work{0};

    ready_item stop_marker;  // queued by stop(): the loop leaves when it meets it
    bool stop_is_queued = false;
    bool stop_met = false;
    bool is_running = false;
    bool is_closed = false;
    closable* closables = nullptr;
};

// Makes the loop the running one of this thread.
class running_mark {
public:
    explicit running_mark(loop& marked) : loop_(marked) {
        marked.state().is_running = true;
        marked.state().thread = std::this_thread::get_id();
        this_thread.loop = &marked;
    }
    running_mark(const running_mark&) = delete;
    running_mark& operator=(const running_mark&) = delete;
    ~running_mark() {
        loop_.state().is_running = false;
        this_thread.loop = nullptr;
    }

private:
    loop& loop_;
};

}  // namespace weir::detail
