// SPDX-License-Identifier: MIT
// The state of a thread pool: the queue of calls and the threads that run them.
#pragma once

#include <weir/io/detail/thread_call.hpp>
#include <weir/io/thread_pool.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weir::detail {

class thread_pool_core {
public:
    explicit thread_pool_core(const thread_pool_options& options);
    thread_pool_core(const thread_pool_core&) = delete;
    thread_pool_core& operator=(const thread_pool_core&) = delete;
    ~thread_pool_core() = default;
    // Called once, when the pool is destroyed. Calls may still share this object, and find it
    // ended.
    void end() noexcept;

    // False if the call was refused: it has its error and will not be mailed back.
    bool enter(thread_call_base& call) noexcept;
    // True if the call had not begun; it will not run.
    bool withdraw(thread_call_base& call) noexcept;

    // False if no thread is left to wait for.
    bool shut_down(thread_pool_end& waiter) noexcept;
    bool forget(thread_pool_end& waiter) noexcept;
    // At process exit: idle threads end, threads in a call are left alone.
    void leave() noexcept;

    thread_pool_stats stats() const;
    std::size_t max_threads() const noexcept { return max_threads_; }

private:
    struct worker {
        std::thread thread;
        std::condition_variable wake;
        bool is_woken = false;
    };
    using locked = std::unique_lock<std::mutex>;

    void append(thread_call_base& call) noexcept;
    void unlink(thread_call_base& call) noexcept;
    thread_call_base* take_first() noexcept;
    void start_worker();
    void work(worker& self) noexcept;
    bool wait_for_work(worker& self, locked& lock) noexcept;
    void end_work(worker& self, locked& lock) noexcept;
    worker* wake_one() noexcept;
    void begin_close() noexcept;
    void wait_for_threads(locked& lock, bool also_busy) noexcept;
    void refuse(thread_call_base& call, refusal_reason why) noexcept;
    static void send_back(thread_call_base& call) noexcept;

    const std::size_t max_threads_;
    const std::size_t queue_limit_;
    const std::chrono::nanoseconds idle_time_;
    const std::string name_;

    mutable std::mutex mutex_;  // guards all members below
    thread_call_base* first_ = nullptr;
    thread_call_base* last_ = nullptr;
    thread_pool_stats counts_;
    bool is_closing_ = false;
    thread_pool_end* waiters_ = nullptr;
    std::condition_variable thread_ended_;

    std::deque<worker> workers_;   // not moved: they are notified without the lock
    std::vector<worker*> idle_;    // the last to become idle is woken first, so that others end
    std::vector<worker*> unused_;  // their threads were joined
    worker* ended_ = nullptr;      // joined by the next thread that ends
};

}  // namespace weir::detail
