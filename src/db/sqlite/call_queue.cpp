// SPDX-License-Identifier: MIT
// One mutex guards two lists. While a transaction is open between calls, the writer takes only that
// transaction's calls, which have a list of their own; a call inside the transaction that would
// wait for its end fails at once.

#include "db/sqlite/call_queue.hpp"

#include <weir/db/sqlite/error.hpp>
#include <weir/error.hpp>

#include <string>

namespace weir::sqlite::detail {

namespace {

std::exception_ptr closed_error() {
    return std::make_exception_ptr(invalid_state("sqlite: the database is closed"));
}

std::exception_ptr inside_itself_error() {
    return std::make_exception_ptr(invalid_state(
        "sqlite: the database is used inside a transaction of its own, and would wait for that to "
        "end; use the transaction that the body was given"));
}

}  // namespace

// ---- lists

void call_queue::list::push(call_base& last) noexcept {
    calls.push_back(last);
    ++size;
}

void call_queue::list::remove(call_base& gone) noexcept {
    calls.remove(gone);
    --size;
}

call_base* call_queue::list::pop() noexcept {
    if (calls.empty()) {
        return nullptr;
    }
    call_base& first = calls.front();
    remove(first);
    first.stage_ = call_base::stage::taken;
    return &first;
}

call_queue::list& call_queue::list_for(const call_base& call) noexcept {
    return !open_.is_own() && call.transaction() == open_ ? in_transaction_ : waiting_;
}

// ---- on the loops' threads

bool call_queue::would_wait_for_itself(const call_base& call) const noexcept {
    return !open_.is_own() && !is_released_ && call.is_inside(open_);
}

bool call_queue::enter(call_base& call) noexcept {
    const std::lock_guard lock(guard_);
    if (is_closed_) {
        call.fail(closed_error());
        return false;
    }
    list& entered = list_for(call);
    if (&entered == &waiting_) {
        if (would_wait_for_itself(call)) {
            call.fail(inside_itself_error());
            return false;
        }
        if (waiting_.size >= max_waiting_) {
            constexpr int busy = 5;
            call.fail(std::make_exception_ptr(
                error(busy, "sqlite: " + std::to_string(max_waiting_) +
                                " calls are waiting, which is max_queue; the call is refused")));
            return false;
        }
    }
    entered.push(call);
    call.stage_ = call_base::stage::queued;
    if (&entered == &in_transaction_ || waiting_.size >= wake_at_) {
        changed_.notify_one();
    }
    return true;
}

bool call_queue::withdraw(call_base& call) noexcept {
    const std::lock_guard lock(guard_);
    if (call.stage_ != call_base::stage::queued) {
        call.stop_flag().store(true);
        has_stopped_.store(true);
        return false;
    }
    list_for(call).remove(call);
    call.stage_ = call_base::stage::outside;
    return true;
}

void call_queue::check_outside() const {
    const std::lock_guard lock(guard_);
    if (!open_.is_own() && !is_released_ && is_running_inside(open_)) {
        std::rethrow_exception(inside_itself_error());
    }
}

void call_queue::release(transaction_id transaction) noexcept {
    const std::lock_guard lock(guard_);
    if (transaction == open_) {
        is_released_ = true;
        changed_.notify_one();
    }
}

void call_queue::close(bool finishes, weir::detail::intrusive_list<call_base>& failed) noexcept {
    const std::lock_guard lock(guard_);
    is_closed_ = true;
    is_stopping_ = is_stopping_ || !finishes;
    for (list* const each : {&waiting_, &in_transaction_}) {
        while (call_base* const call = finishes ? nullptr : each->pop()) {
            call->fail(closed_error());
            failed.push_back(*call);
        }
    }
    changed_.notify_all();
}

// ---- on the lane's threads

void call_queue::end_transaction() noexcept {
    const std::lock_guard lock(guard_);
    open_ = transaction_id();
    is_released_ = false;
}

// To sleep and be woken takes longer than the calls take that are expected.
void call_queue::spin() const noexcept {
    constexpr std::chrono::microseconds limit(50);
    const time_point end = std::chrono::steady_clock::now() + limit;
    while (waiting_.size == 0 && std::chrono::steady_clock::now() < end) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

void call_queue::take_alike(std::vector<call_base*>& batch, std::size_t max_batch) {
    while (batch.size() < max_batch && !waiting_.calls.empty() &&
           waiting_.calls.front().transaction().is_own()) {
        batch.push_back(waiting_.pop());
    }
}

call_queue::next call_queue::take(std::vector<call_base*>& batch, std::size_t max_batch) {
    std::unique_lock lock(guard_);
    for (;; changed_.wait(lock)) {
        if (is_stopping_) {
            return next::closed;
        }
        if (!open_.is_own()) {
            if (call_base* const call = in_transaction_.pop()) {
                batch.push_back(call);
                return next::calls;
            }
            if (is_released_) {
                return next::end_of_transaction;
            }
        } else if (call_base* const call = waiting_.pop()) {
            batch.push_back(call);
            if (call->transaction().is_own()) {
                take_alike(batch, max_batch);
            } else if (call->transaction() != transaction_id::none()) {
                open_ = call->transaction();
            }
            return next::calls;
        } else if (is_closed_) {
            return next::closed;
        }
    }
}

bool call_queue::take_more(std::vector<call_base*>& batch, std::size_t max_batch,
                           std::size_t missing, time_point until) {
    if (waiting_.size == 0) {
        spin();
    }
    std::unique_lock lock(guard_);
    if (waiting_.size == 0) {
        wake_at_ = missing;
        changed_.wait_until(lock, until, [&] { return waiting_.size >= missing || is_closed_; });
        wake_at_ = 1;
    }
    const std::size_t before = batch.size();
    take_alike(batch, max_batch);
    return batch.size() > before;
}

}  // namespace weir::sqlite::detail
