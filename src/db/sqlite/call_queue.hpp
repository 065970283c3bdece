// SPDX-License-Identifier: MIT
// The calls that wait for a lane's threads.
#pragma once

#include <weir/db/sqlite/detail/call.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace weir::sqlite::detail {

class call_queue {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit call_queue(std::size_t max_waiting) noexcept : max_waiting_(max_waiting) {}

    // ---- on the loops' threads

    // True: a thread will perform the call. False: the call has failed already.
    bool enter(call_base& call) noexcept;
    // True: the call has left. False: a thread has taken it, and its stop flag is set.
    bool withdraw(call_base& call) noexcept;
    // Throws invalid_state if the running task is inside the open transaction.
    void check_outside() const;
    // The transaction's body has ended: a thread rolls back what was not committed.
    void release(transaction_id transaction) noexcept;
    // Refuses more calls. The calls that wait are still performed (finishes), or fail.
    void close(bool finishes, weir::detail::intrusive_list<call_base>& failed) noexcept;
    std::size_t size() const noexcept { return waiting_.size + in_transaction_.size; }

    // ---- on the lane's threads

    enum class next : unsigned char { calls, end_of_transaction, closed };
    // Waits for calls, and appends the next one to the batch, together with those behind it that
    // can share its commit. end_of_transaction: the body of the open transaction has ended.
    next take(std::vector<call_base*>& batch, std::size_t max_batch);
    // Waits, until that time, for as many calls as are missing. False: none came that can share the
    // batch's commit.
    bool take_more(std::vector<call_base*>& batch, std::size_t max_batch, std::size_t missing,
                   time_point until);
    // Waits for a call, a few microseconds at most, without sleeping.
    void spin() const noexcept;
    // The open transaction has been rolled back or committed, and its body has ended.
    void end_transaction() noexcept;
    std::size_t waiting() const noexcept { return waiting_.size; }
    // Set when one of the calls that were taken is stopped.
    std::atomic<bool>& stop_flag() noexcept { return has_stopped_; }

private:
    struct list {
        void push(call_base& last) noexcept;
        void remove(call_base& gone) noexcept;
        call_base* pop() noexcept;  // null: empty
        weir::detail::intrusive_list<call_base> calls;
        std::atomic<std::size_t> size{0};  // changed under the lock, read without it
    };
    // The list for the call: the calls of the open transaction do not wait behind others.
    list& list_for(const call_base& call) noexcept;
    bool would_wait_for_itself(const call_base& call) const noexcept;
    void take_alike(std::vector<call_base*>& batch, std::size_t max_batch);

    const std::size_t max_waiting_;
    mutable std::mutex guard_;
    std::condition_variable changed_;
    list waiting_;
    list in_transaction_;
    transaction_id open_;       // the transaction that is open between calls; is_own(): none
    bool is_released_ = false;  // the body of the open transaction has ended
    bool is_closed_ = false;
    bool is_stopping_ = false;  // closed, without performing what waits
    std::size_t wake_at_ = 1;   // waiting calls, to wake a thread
    std::atomic<bool> has_stopped_{false};
};

}  // namespace weir::sqlite::detail
