// SPDX-License-Identifier: MIT
// The insides of a loop that only the library's own sources see.
#pragma once

#include "core/debug/explorer.hpp"

#include <weir/base/loop_support.hpp>
#include <weir/base/mail.hpp>
#include <weir/base/timer_wheel.hpp>
#include <weir/detail/context.hpp>
#include <weir/detail/idle.hpp>
#include <weir/loop.hpp>

#include <atomic>
#include <memory>
#include <source_location>
#include <thread>
#include <utility>
#include <vector>

namespace weir::detail {

// A callback in the ready queue, or on its way there through a timer.
struct scheduled_call final : ready_item, timer {
    loop* home;
    unique_function<void()> callback;
    context_values* context = nullptr;
    clock::time_point when{};
    std::source_location registered;
    bool is_cancelled = false;

    scheduled_call(loop& at, unique_function<void()> what, std::source_location where) noexcept
        : home(&at), callback(std::move(what)), registered(where) {
        flags = is_callback;
    }
    ~scheduled_call() { release_context(context); }
    void fire() noexcept override;
    bool keeps_order() const noexcept override { return true; }
    void run() noexcept;
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

struct signal_handlers;
struct delete_signal_handlers {
    void operator()(signal_handlers* handlers) const noexcept;
};

// A callback from another thread.
struct posted_call final : mail_item {
    enum class stage : int { waiting, taken, cancelled };
    std::atomic<stage> at{stage::waiting};
    unique_function<void()> callback;
    std::shared_ptr<posted_call> self;  // while it is in the queue
    std::source_location registered;

    void arrive(loop& home) noexcept override;
    void get_lost() noexcept override { const auto last = std::move(self); }
};

// The part of a loop that other threads touch. They share it: the loop may be gone by the time that
// a thread which has posted its last callback would wake it.
struct inbox {
    std::unique_ptr<weir::driver> driver;
    std::atomic<mail_item*> posted{nullptr};  // the newest; closed_mark() when no more are taken
    std::atomic<bool> is_sleeping{false};
    std::atomic<std::size_t> outside_work{0};
    std::atomic<std::uint64_t> signals{0};  // a bit for each that has arrived

    static mail_item* closed_mark() noexcept;
    // False when the loop is closed.
    bool put(mail_item& item) noexcept;
    // Takes all, or all there will ever be; oldest first.
    mail_item* take_all(bool for_the_last_time) noexcept;
    static mail_item* after(const mail_item& item) noexcept { return item.next_; }
    bool has_mail() const noexcept {
        return posted.load(std::memory_order_relaxed) != nullptr ||
               signals.load(std::memory_order_relaxed) != 0;
    }
};

struct loop_state {
    std::shared_ptr<inbox> mail = std::make_shared<inbox>();
    weir::driver* driver = nullptr;  // the inbox's
    timer_wheel timers;
    std::thread::id thread;
    clock::duration slow_step{};
    clock::duration shutdown_deadline{};
    std::uint64_t seeds = 0;                    // given out so far
    std::unique_ptr<explorer> exploration;      // null: first in, first out
    idle_operation* idle = nullptr;             // waits until nothing else is ready
    std::shared_ptr<report_handler> on_report;  // shared: a handler may replace itself
    std::unique_ptr<signal_handlers, delete_signal_handlers> signals;  // made on first use

    ready_item stop_marker;  // queued by stop(): the loop leaves when it meets it
    bool stop_is_queued = false;
    bool stop_met = false;
    bool is_running = false;
    bool is_closed = false;
    signal_handling signal_use = signal_handling::none;
    bool dump_on_sigusr1 = false;
    bool ended_late = false;                  // tasks were stopped at the deadline, or abandoned
    int stopped_by = 0;                       // the signal that ended the run
    std::size_t failures_while_stopping = 0;  // reported since that signal
    clock::time_point end_by = clock::time_point::max();  // set by that signal
    closable* closables = nullptr;
    std::vector<std::pair<const void*, std::unique_ptr<loop_service>>> services;  // by key
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
