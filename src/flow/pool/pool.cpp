// SPDX-License-Identifier: MIT
// How a pool serves those who ask.
//
// An object is idle, lent, or in the hands of one of the pool's own tasks, which connect, check,
// reset or close it. Whoever asks and cannot be served at once waits in one line and does nothing
// else: connects and checks are never run by the task that asks. So a task that is stopped or times
// out just leaves the line; what was started for it goes on and serves the next one, and no path
// exists on which an object or a place could get lost.
//
// Everything that changes something ends in pump(), which restores three rules:
//   1. nobody waits while an object is idle that nobody has been promised;
//   2. as many connects and checks are on their way as there are waiters without one and places
//      for them, plus what min_idle asks for; never more;
//   3. there are no more objects than max, as far as they are not lent.

#include <weir/error.hpp>
#include <weir/flow/detail/pool_work.hpp>
#include <weir/timeout.hpp>

#include <algorithm>

namespace weir::detail {

// ---- lending
// ---------------------------------------------------------------------------------------

pool_entry* pool_core::take_with_care(const std::source_location& where) noexcept {
    while (serves() && !is_draining_ && waiting_ == 0 && !idle_.empty()) {
        pool_entry& next = newest_first_ ? idle_.back() : idle_.front();
        idle_.remove(next);  // first: the check may come back here, with evict_all() above all
        const check_result result = needs_check(next) ? check_now(next) : check_result::good;
        if (result == check_result::takes_time) {
            newest_first_ ? idle_.push_back(next) : idle_.push_front(next);
            return nullptr;
        }
        if (result == check_result::good && next.generation == generation_) {
            lend(next, where);
            if (idle_.size() < min_idle_) {
                pump();
            }
            return &next;
        }
        if (result == check_result::bad) {
            ++counted_.check_failures;
            tell("check_failed");
        }
        retire(next);
        pump();
    }
    return nullptr;
}

void pool_core::give_back_with_care(pool_entry& returned) noexcept {
    waiters_.check_thread("lease: give back");
    lent_.remove(returned);
    if (is_orphaned_) {
        destroy(returned);
        release();
        return;
    }
    if (has_.reset && !returned.is_retired && !is_closed_) {
        start_reset(returned);
        return;
    }
    was_reset(returned, true);
}

void pool_core::was_reset(pool_entry& entry, bool is_good) noexcept {
    if (!is_good) {
        ++counted_.check_failures;
        tell("reset_failed");
        entry.is_retired = true;
    }
    if (ages_) {
        stamp_idle(entry);
    }
    offer(entry, false);
}

void pool_core::forget(pool_entry& detached) noexcept {
    lent_.remove(detached);
    ++counted_.detached;
    if (is_orphaned_) {
        release();
    } else {
        pump();
    }
}

// An object is free: in no list, and nobody's.
void pool_core::offer(pool_entry& entry, bool is_checked) noexcept {
    const bool is_too_many = live() + count_of(pool_job::connecting) >= max_;
    const bool is_outdated = entry.generation != generation_;
    if (entry.is_retired || is_closed_ || is_too_many || is_outdated) {
        retire(entry);
    } else if (serves() && waiting_ > 0) {
        hand_on(entry, is_checked);
    } else {
        put_idle(entry);
    }
    pump();
}

// To the one who has waited longest; or to a check first, and then to whoever has.
void pool_core::hand_on(pool_entry& entry, bool is_checked) noexcept {
    if (!is_checked && needs_check(entry)) {
        switch (check_now(entry)) {
            case check_result::good:
                break;
            case check_result::bad:
                ++counted_.check_failures;
                tell("check_failed");
                retire(entry);
                return;
            case check_result::takes_time:
                start_check(entry);
                return;
        }
    }
    grant(entry);
}

void pool_core::grant(pool_entry& entry) noexcept {
    auto& first = static_cast<pool_waiter&>(waiters_.grant_first());
    --waiting_;
    first.entry_ = &entry;
    lend(entry, first.where_);
    wake_at(entry.expires);
    ++counted_.waits;
    counted_.wait_time += time() - first.entered_;
}

// After a check the object has not been used: it keeps its place among the idle ones.
void pool_core::put_idle(pool_entry& entry) noexcept {
    if (!idle_.empty() && entry.since < idle_.back().since) {
        idle_.push_front(entry);
    } else {
        idle_.push_back(entry);
    }
    wake_at(due(entry, entry.known_good));
}

void pool_core::retire(pool_entry& entry) noexcept {
    ++counted_.closed;
    if (has_.close && !is_orphaned_) {
        start_close(entry);
    } else {
        destroy(entry);
    }
}

bool pool_core::needs_check(const pool_entry& entry) noexcept {
    return has_.check && (options_.check_after == clock::duration::zero() ||
                          time() - entry.known_good >= options_.check_after);
}

void pool_core::pump() noexcept {
    if (is_orphaned_) {
        note_change();
        return;
    }
    while (serves() && waiting_ > count_of(pool_job::checking) && !idle_.empty()) {
        pool_entry& next = newest_first_ ? idle_.back() : idle_.front();
        idle_.remove(next);
        hand_on(next, false);
    }
    while (has_excess() && !idle_.empty()) {
        pool_entry& oldest = idle_.front();
        idle_.remove(oldest);
        retire(oldest);
    }
    connect_as_needed();
    note_change();
}

void pool_core::connect_as_needed() noexcept {
    if (!serves() || home == nullptr) {
        return;
    }
    const std::size_t supply =
        idle_.size() + count_of(pool_job::checking) + count_of(pool_job::connecting);
    const std::size_t demand = waiting_ + (is_draining_ ? 0 : min_idle_);
    const std::size_t for_waiters = waiting_ > supply ? waiting_ - supply : 0;
    std::size_t missing = demand > supply ? demand - supply : 0;
    if (missing > 0 && failures_ > 0) {
        const clock::time_point now = time();
        if (now < next_refill_) {
            if (missing > for_waiters) {
                wake_at(next_refill_);
            }
            missing = for_waiters;
        }
        if (now < next_connect_) {
            if (for_waiters > 0) {
                wake_at(next_connect_);
            }
            missing = 0;
        }
    }
    for (; missing > 0 && has_room(); --missing) {
        start_connect();
    }
}

// What the short cuts depend on may have changed; those who wait for the end look again.
void pool_core::note_change() noexcept {
    takes_plainly_ = serves() && !is_draining_ && !has_.check;
    returns_plainly_ = !is_draining_ && !is_closed_ && !has_.reset && !has_excess();
    if (is_draining_) {
        changed_.set();
    }
}

// ---- waiting
// ---------------------------------------------------------------------------------------

bool pool_core::wait(pool_waiter& last) noexcept {
    bind();
    if (is_draining_) {
        return refuse(last, {refusal_reason::shut_down, refusal::never});
    }
    const clock::time_point now = time();
    const std::size_t objects = live() + count_of(pool_job::connecting);
    const std::size_t taken = objects + count_of(pool_job::closing);
    const std::size_t supply = idle_.size() + count_of(pool_job::checking) +
                               count_of(pool_job::connecting) + (taken < max_ ? max_ - taken : 0);
    if (waiting_ >= supply && waiting_ - supply >= options_.max_waiting) {
        return refuse(last, {refusal_reason::queue_full, {}});
    }
    last.entered_ = now;
    last.deadline_ = after(now, options_.max_wait);
    if (objects == 0 && failures_ > 0 &&
        next_connect_ > std::min(last.deadline_, current_deadline())) {
        return refuse(last, {refusal_reason::wait_too_long, next_connect_ - now});
    }
    if (!waiters_.enter(last)) {
        return false;
    }
    ++waiting_;
    wake_at(last.deadline_);
    pump();
    return true;
}

bool pool_core::refuse(pool_waiter& newcomer, const refusal& why) noexcept {
    newcomer.refusal_ = why;
    ++counted_.refused;
    return false;
}

void pool_core::refuse_first(const refusal& why, std::exception_ptr error) noexcept {
    auto& first = static_cast<pool_waiter&>(wait_list::at(waiters_.first_waiting()));
    --waiting_;
    if (error == nullptr) {
        ++counted_.refused;
    }
    first.refusal_ = why;
    first.error_ = std::move(error);
    waiters_.release_first(wait_state::refused);
}

void pool_core::refuse_all(const refusal& why) noexcept {
    while (waiting_ > 0) {
        refuse_first(why);
    }
}

refusal pool_core::why_not() noexcept {
    ++counted_.refused;
    return is_draining_ ? refusal{refusal_reason::shut_down, refusal::never}
                        : refusal{refusal_reason::concurrency_limited, {}};
}

void pool_core::leave(pool_waiter& gone) noexcept {
    waiters_.remove(gone);
    gone.state_ = wait_state::idle;
    --waiting_;
    note_change();
}

void pool_core::abandon(pool_waiter& gone) noexcept {
    if (gone.state_ == wait_state::waiting) {
        leave(gone);
    } else if (gone.state_ == wait_state::granted) {
        waiters_.remove_granted(gone);
        pool_entry& unused = *gone.entry_;
        lent_.remove(unused);
        --unused.uses;
        --counted_.acquired;
        if (is_orphaned_) {
            destroy(unused);
            release();
        } else {
            offer(unused, true);
        }
    }
}

void pool_waiter::settle() {
    switch (std::exchange(state_, wait_state::idle)) {
        case wait_state::granted:
            pool_->take_over(*this);
            return;
        case wait_state::refused:
            if (error_ != nullptr) {
                std::rethrow_exception(std::exchange(error_, nullptr));
            }
            return;
        default:
            throw_wait_error(wait_state::wrong_loop, "pool");
    }
}

void pool_core::take_over(pool_waiter& granted) noexcept {
    waiters_.remove_granted(granted);
}

}  // namespace weir::detail
