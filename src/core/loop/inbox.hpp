// SPDX-License-Identifier: MIT
// The part of a loop that other threads and signal handlers touch. They share its ownership: the
// loop may be gone by the time that a thread which has posted its last callback would wake it.
#pragma once

#include <weir/base/mail.hpp>
#include <weir/detail/thread_state.hpp>
#include <weir/driver.hpp>
#include <weir/loop.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>

namespace weir::detail {

struct inbox {
public:
    explicit inbox(std::unique_ptr<weir::driver> own) noexcept : driver_(std::move(own)) {}
    inbox(const inbox&) = delete;
    inbox& operator=(const inbox&) = delete;

    weir::driver& driver() const noexcept { return *driver_; }

    // From any thread: wakes the loop if it sleeps. False when the loop is closed.
    bool put(mail_item& item) noexcept;
    // From a signal handler.
    void put_signal(int number) noexcept;

    // From any thread: a put() will come from outside the loop, or has come.
    void expect_post() noexcept { expected_posts_.fetch_add(1); }
    void expected_post_came() noexcept { expected_posts_.fetch_sub(1); }

    // On the loop's thread, as all below.
    bool expects_post() const noexcept { return expected_posts_.load() != 0; }
    bool empty() const noexcept {
        return posted_.load(std::memory_order_relaxed) == nullptr && !has_signals();
    }
    // Delivers all mail to the loop, oldest first.
    void deliver(loop& home) noexcept;
    // Accepts no more posts, and notifies the senders of undelivered ones.
    void close() noexcept;

    bool has_signals() const noexcept { return signals_.load(std::memory_order_relaxed) != 0; }
    // A bit for each signal that has arrived: bit_of(number).
    std::uint64_t take_signals() noexcept { return signals_.exchange(0); }
    void forget_signal(int number) noexcept { signals_.fetch_and(~bit_of(number)); }
    static constexpr std::uint64_t bit_of(int signal) noexcept {
        return std::uint64_t{1} << (signal - 1);
    }

    // The loop is about to sleep, or does not run: a thread that puts something from now on wakes
    // the driver. False if something was put before.
    bool begin_sleep() noexcept {
        is_sleeping_.store(true, std::memory_order_seq_cst);
        return posted_.load(std::memory_order_seq_cst) == nullptr;
    }
    void end_sleep() noexcept { is_sleeping_.store(false, std::memory_order_relaxed); }

private:
    static mail_item* closed_mark() noexcept;
    mail_item* take_all(mail_item* replacement) noexcept;

    std::unique_ptr<weir::driver> driver_;
    std::atomic<mail_item*> posted_{nullptr};  // the newest; closed_mark() when no more are taken
    std::atomic<bool> is_sleeping_{true};      // also while no run is under way: it may be a guest
    std::atomic<std::size_t> expected_posts_{0};
    std::atomic<std::uint64_t> signals_{0};
};

// A callback from another thread.
struct posted_call final : mail_item {
    enum class stage : int { waiting, running, awaited, ended, cancelled };
    std::atomic<stage> at{stage::waiting};  // awaited: runs, and a thread waits for its end
    const thread_state* runner = nullptr;   // the thread that runs it, from `running` on
    unique_function<void()> callback;
    std::shared_ptr<posted_call> self;  // while it is in the inbox
    std::source_location registered;

    // On the loop's thread, unless it was cancelled.
    void run();
    // From any thread: true if it had not begun. If it runs on another thread, waits for its end.
    bool cancel() noexcept;
    void await_end() noexcept;
    void arrive(loop& home) noexcept override;
    void get_lost() noexcept override { const auto last = std::move(self); }
};

// Posts a callback; null, and the callback is destroyed, when the loop is closed.
std::shared_ptr<posted_call> post(inbox& to, unique_function<void()> callback,
                                  const std::source_location& where);

}  // namespace weir::detail
