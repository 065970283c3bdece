// SPDX-License-Identifier: MIT
// How a pool serves requests.
//
// An object is idle, lent, or in the hands of one of the pool's own tasks, which connect, check,
// reset or close it. A request that cannot be served at once waits in one line and does nothing
// else: the requesting task never connects or checks. So a task that is stopped or times out just
// leaves the line; the work that was started for it goes on and serves the next request, and no
// path exists on which an object or a place could get lost.
//
// Every change ends in pump(), which restores three rules:
//   1. no request waits while an idle object is free;
//   2. as many connects and checks are in flight as there are waiting requests without one and
//      places for them, plus those that min_idle needs; never more;
//   3. there are no more objects than max, except lent ones.
//
// The end has two steps. Draining: newcomers are refused, and the pool waits for leases. Closed:
// nothing is lent, and every object that is idle, comes back, or was being connected is closed. A
// pool that is destroyed without having been closed is orphaned: the user's functions are not
// called any more, since what they refer to may be destroyed with the pool; objects just end with
// their destructors.

#include "base/source_place.hpp"

#include <weir/error.hpp>
#include <weir/flow/admission.hpp>
#include <weir/flow/detail/pool_work.hpp>
#include <weir/loop.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <cstdio>

namespace weir::detail {

namespace {

constexpr refusal closed_refusal{refusal_reason::shut_down, refusal::never};

}  // namespace

pool_core::pool_core(const pool_options& options, abilities given)
    : connect_timeout_(checked_options(options, given.check).connect_timeout),
      check_timeout_(options.check_timeout),
      close_timeout_(options.close_timeout),
      has_(given),
      ages_(options, given.check),
      idle_(options, ages_),
      lent_(options, ages_),
      max_(options.max),
      backoff_(options),
      random_(options.seed),
      options_(options),
      name_(options.name) {
    options_.name = name_;
}

pool_core::~pool_core() = default;

void pool_core::begin() noexcept {
    tie_to_loop();
    pump();
}

void pool_core::tie_to_loop() noexcept {
    if (bind() && options_.seed == 0) {
        random_ = decision::random_source(bound_loop()->fresh_seed());
    }
}

// ---- lending ------------------------------------------------------------------------------------

pool_entry* pool_core::take_with_care(const std::source_location& where) noexcept {
    while (serves() && !is_draining_ && line_.size() == 0 && !idle_.empty()) {
        // Taken out before the check, which may call the pool, evict_all() for example.
        pool_entry& next = idle_.take_next();
        const check_result result = needs_check(next) ? check_now(next) : check_result::good;
        if (result == check_result::takes_time) {
            idle_.undo_take_next(next);
            return nullptr;
        }
        if (result == check_result::good && next.generation == generation_) {
            lend(next, where);
            begin_use(next);
            if (idle_.is_short()) {
                pump();
            }
            return &next;
        }
        result == check_result::bad ? retire_failed(next) : retire(next);
        pump();
    }
    return nullptr;
}

void pool_core::give_back_with_care(pool_entry& returned) noexcept {
    line_.check_thread("lease: give back");
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

void pool_core::forget(pool_entry& detached) noexcept {
    lent_.remove(detached);
    ++counted_.detached;
    if (is_orphaned_) {
        release();
    } else {
        pump();
    }
}

// The object is free: in no list and not lent.
void pool_core::offer(pool_entry& entry, bool is_checked) noexcept {
    const bool is_too_many = objects() >= max_;
    const bool is_outdated = entry.generation != generation_;
    if (entry.is_retired || is_closed_ || is_too_many || is_outdated) {
        retire(entry);
    } else if (serves() && line_.size() > 0) {
        hand_on(entry, is_checked);
    } else {
        put_idle(entry);
    }
    pump();
}

// Gives it to the request that has waited longest, after a check if it needs one.
void pool_core::hand_on(pool_entry& entry, bool is_checked) noexcept {
    if (!is_checked && needs_check(entry)) {
        switch (check_now(entry)) {
            case check_result::good:
                break;
            case check_result::bad:
                retire_failed(entry);
                return;
            case check_result::takes_time:
                start_check(entry);
                return;
        }
    }
    grant(entry);
}

void pool_core::grant(pool_entry& entry) noexcept {
    lend(entry, line_.first_place());
    wake_at(entry.expires);
    line_.grant_first(entry);
}

void pool_core::take_over(pool_request& granted) noexcept {
    begin_use(line_.leave_granted(granted));
    ++counted_.waits;
    counted_.wait_time += time() - pool_line::begin_of(granted);
}

void pool_core::put_idle(pool_entry& entry) noexcept {
    idle_.add_in_order(entry);
    wake_at(ages_.next_due(entry, entry.known_good));
}

void pool_core::retire(pool_entry& entry) noexcept {
    ++counted_.closed;
    if (has_.close && !is_orphaned_) {
        start_close(entry);
    } else {
        destroy(entry);
    }
}

void pool_core::retire_failed(pool_entry& entry) noexcept {
    ++counted_.check_failures;
    report("check_failed");
    retire(entry);
}

bool pool_core::needs_check(const pool_entry& entry) const noexcept {
    return has_.check && (ages_.always_needs_check() || ages_.needs_check(entry, time()));
}

void pool_core::pump() noexcept {
    if (is_orphaned_) {
        note_change();
        return;
    }
    while (serves() && line_.size() > tasks_.count(pool_job::checking) && !idle_.empty()) {
        hand_on(idle_.take_next(), false);
    }
    while (has_excess() && !idle_.empty()) {
        retire(idle_.take_oldest());
    }
    connect_as_needed();
    note_change();
}

void pool_core::connect_as_needed() noexcept {
    if (!serves() || !is_bound()) {
        return;
    }
    const std::size_t available = supply();
    const std::size_t demand = line_.size() + (is_draining_ ? 0 : idle_.least());
    const std::size_t for_waiters = line_.size() > available ? line_.size() - available : 0;
    std::size_t missing = demand > available ? demand - available : 0;
    if (missing > 0 && backoff_.is_failing()) {
        const clock::time_point now = time();
        if (now < backoff_.next_refill()) {
            if (missing > for_waiters) {
                wake_at(backoff_.next_refill());
            }
            missing = for_waiters;
        }
        if (now < backoff_.next_connect()) {
            if (for_waiters > 0) {
                wake_at(backoff_.next_connect());
            }
            missing = 0;
        }
    }
    for (; missing > 0 && places_taken() < max_; --missing) {
        start_connect();
    }
}

// The conditions of the fast paths may have changed; drain() and close() look again.
void pool_core::note_change() noexcept {
    takes_plainly_ = serves() && !is_draining_ && !has_.check;
    returns_plainly_ = !is_draining_ && !is_closed_ && !has_.reset && !has_excess();
    if (is_draining_) {
        changed_.set();
    }
}

// ---- waiting ------------------------------------------------------------------------------------

bool pool_core::wait(pool_request& last) noexcept {
    tie_to_loop();
    if (is_draining_) {
        return refuse(last, closed_refusal);
    }
    const clock::time_point now = time();
    const std::size_t free_places = max_ - std::min(max_, places_taken());
    const std::size_t served_soon = supply() + free_places;
    if (line_.size() >= served_soon && line_.size() - served_soon >= options_.max_waiting) {
        return refuse(last, {refusal_reason::queue_full, {}});
    }
    const clock::time_point latest = after(now, options_.max_wait);
    if (objects() == 0 && backoff_.is_failing()) {
        const clock::time_point deadline = current_deadline();
        if (backoff_.next_connect() > std::min(deadline, latest)) {
            return refuse(last, {late_reason(deadline, latest), backoff_.next_connect() - now});
        }
    }
    if (!line_.enter(last, now, latest)) {
        return false;
    }
    wake_at(latest);
    pump();
    return true;
}

bool pool_core::refuse(pool_request& newcomer, const refusal& reason) noexcept {
    line_.refuse_newcomer(newcomer, reason);
    ++counted_.refused;
    return false;
}

void pool_core::refuse_all() noexcept {
    counted_.refused += line_.refuse_all(closed_refusal);
}

refusal pool_core::refuse_try() noexcept {
    ++counted_.refused;
    return is_draining_ ? closed_refusal : refusal{refusal_reason::concurrency_limited, {}};
}

void pool_core::leave(pool_request& waiting) noexcept {
    line_.leave(waiting);
    note_change();
}

void pool_core::abandon(pool_request& gone) noexcept {
    if (gone.state() == wait_state::waiting) {
        leave(gone);
    } else if (gone.state() == wait_state::granted) {
        pool_entry& unused = line_.leave_granted(gone);
        lent_.remove(unused);
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

// ---- results of the pool's tasks ----------------------------------------------------------------

void pool_core::connected(pool_entry& fresh) noexcept {
    ++counted_.connects;
    backoff_.succeeded();
    const clock::time_point now = time();
    fresh.since = fresh.known_good = now;
    fresh.expires = ages_.end_of_lifetime(now, random_);
    wake_at(fresh.expires);
    report("connected");
    offer(fresh, true);
}

// The error goes to the request that has waited longest, unless the connects and checks in flight
// are enough for all that wait.
void pool_core::connect_failed(std::exception_ptr error) noexcept {
    if (is_closed_ || (is_draining_ && line_.size() == 0)) {  // close() has cancelled it
        note_change();
        return;
    }
    ++counted_.connect_failures;
    backoff_.failed(time());
    report("connect_failed", static_cast<double>(backoff_.failures()));
    if (line_.size() > tasks_.count(pool_job::checking) + tasks_.count(pool_job::connecting)) {
        line_.refuse_first({}, std::move(error));
    }
    pump();
}

void pool_core::checked(pool_entry& entry, bool is_good) noexcept {
    if (is_good) {
        entry.known_good = time();
    } else {
        ++counted_.check_failures;
        entry.is_retired = true;
        report("check_failed");
    }
    offer(entry, true);
}

void pool_core::was_reset(pool_entry& entry, bool is_good) noexcept {
    if (!is_good) {
        ++counted_.check_failures;
        report("reset_failed");
        entry.is_retired = true;
    }
    if (ages_.tracks_idle_time()) {
        stamp_idle(entry);
    }
    offer(entry, false);
}

void pool_core::was_closed(pool_entry& entry) noexcept {
    destroy(entry);
    pump();
}

void pool_core::stopped(pool_job job, pool_entry* entry) noexcept {
    switch (job) {
        case pool_job::connecting:
            connect_failed(std::make_exception_ptr(cancelled("the pool's connect was stopped")));
            return;
        case pool_job::closing:
            was_closed(*entry);
            return;
        case pool_job::checking:
        case pool_job::resetting:
            retire(*entry);
            pump();
            return;
    }
}

void pool_core::report_current_error(pool_stage stage) noexcept {
    const std::exception_ptr error = std::current_exception();
    if (options_.on_error && !is_orphaned_ && !is_cancellation(error)) {
        options_.on_error({name_, stage, error});
    }
}

// ---- maintenance --------------------------------------------------------------------------------

// The end of a wait, an idle timeout, a keep-alive, the end of a lifetime, a lease that is held for
// too long, or the next connect after a failure.
void pool_core::on_alarm() noexcept {
    retain();
    const clock::time_point now = time();
    while (line_.size() > 0) {
        if (line_.first_deadline() > now) {
            wake_at(line_.first_deadline());
            break;
        }
        ++counted_.wait_timeouts;
        ++counted_.refused;
        line_.refuse_first({refusal_reason::wait_too_long, {}});
        report("wait_timeout");
    }
    for (lent_objects::leak found = lent_.find_leak(now);; found = lent_.find_leak(now)) {
        wake_at(found.next);
        if (found.entry == nullptr) {
            break;
        }
        ++counted_.leaks;
        const clock::duration held = now - found.entry->since;
        report("lease_held_too_long", std::chrono::duration<double>(held).count());
        report_held(*found.entry);
    }
    for (idle_objects::due_entry due = idle_.take_due(now);; due = idle_.take_due(now)) {
        wake_at(due.next);
        if (due.entry == nullptr) {
            break;
        }
        due.is_expired ? retire(*due.entry) : keep_alive(*due.entry);
    }
    pump();
    release();
}

void pool_core::keep_alive(pool_entry& idle) noexcept {
    switch (check_now(idle)) {
        case check_result::good:
            idle.known_good = time();
            put_idle(idle);
            return;
        case check_result::bad:
            retire_failed(idle);
            return;
        case check_result::takes_time:
            start_check(idle);
            return;
    }
}

void pool_core::stamp_idle(pool_entry& returned) noexcept {
    returned.since = returned.known_good = time();
    wake_at(ages_.next_due(returned, returned.since));
}

void pool_core::stamp_lent(pool_entry& taken) noexcept {
    taken.since = time();
    taken.is_reported = false;
    wake_at(ages_.leak_time(taken));
}

void pool_core::report_held(const pool_entry& held) noexcept {
    if (!is_bound()) {
        return;
    }
    std::string message = name_ + ": an object is still lent";
    if (ages_.reports_leaks()) {
        char seconds[64];
        std::snprintf(seconds, sizeof seconds, " after %g s",
                      std::chrono::duration<double>(time() - held.since).count());
        message += seconds;
    }
    message += "; it was taken at " + describe_place(held.taken);
    bound_loop()->tell({report_kind::long_lease, std::move(message), nullptr, {}, {}});
}

void pool_core::report(std::string_view what, double value) noexcept {
    if (options_.observer != nullptr && !is_orphaned_) {
        options_.observer->on_event(
            {.kind = "pool", .name = name_, .what = what, .at = time(), .value = value});
    }
}

// ---- management ---------------------------------------------------------------------------------

void pool_core::resize(std::size_t max) {
    pool_options changed = options_;
    changed.max = max;
    changed.min_idle = 0;
    max_ = checked_options(changed, has_.check).max;
    pump();
}

void pool_core::suspend() noexcept {
    is_suspended_ = !is_draining_;
    note_change();
}

void pool_core::resume() noexcept {
    is_suspended_ = false;
    pump();
}

void pool_core::evict_all() noexcept {
    ++generation_;
    lent_.retire_all();
    for (std::size_t left = idle_.size(); left > 0 && !idle_.empty(); --left) {
        retire(idle_.take_oldest());
    }
    pump();
}

pool_stats pool_core::stats() const noexcept {
    pool_stats now = counted_;
    now.idle = idle_.size();
    now.lent = lent_.size();
    now.connecting = tasks_.count(pool_job::connecting);
    now.checking = tasks_.count(pool_job::checking);
    now.resetting = tasks_.count(pool_job::resetting);
    now.closing = tasks_.count(pool_job::closing);
    now.max = max_;
    now.waiting = line_.size();
    return now;
}

// ---- the end ------------------------------------------------------------------------------------

// The value tells timeout_or() that it was not the limit that ended the wait.
task<bool> pool_core::wait_for_leases(pool_core& pool) {
    while (!pool.is_orphaned_ && (pool.line_.size() > 0 || !pool.lent_.empty())) {
        pool.changed_.clear();
        co_await pool.changed_.wait();
    }
    co_return true;
}

task<> pool_core::finish(pool_core& pool) {
    pool.shut();
    while (pool.tasks_.any()) {
        pool.changed_.clear();
        co_await pool.changed_.wait();
    }
    pool.report("closed");
}

task<> pool_core::drain(reference pool) {
    pool_core& self = *pool;
    self.is_draining_ = true;
    self.is_suspended_ = false;
    self.pump();
    co_await wait_for_leases(self);
    co_await finish(self);
}

task<> pool_core::close(reference pool, clock::duration limit) {
    pool_core& self = *pool;
    self.is_draining_ = true;
    self.is_suspended_ = false;
    self.refuse_all();
    self.tasks_.cancel_connects();
    self.note_change();
    const bool are_back = co_await timeout_or(limit, wait_for_leases(self), false);
    if (!are_back && !self.is_orphaned_) {
        self.lent_.each([&self](pool_entry& held) { self.report_held(held); });
    }
    co_await finish(self);
}

void pool_core::shut() noexcept {
    is_draining_ = true;
    is_closed_ = true;
    refuse_all();
    tasks_.cancel_connects();
    while (!idle_.empty()) {
        retire(idle_.take_oldest());
    }
    note_change();
}

void pool_core::orphan() noexcept {
    is_orphaned_ = true;
    is_closed_ = true;
    is_draining_ = true;
    note_change();
    refuse_all();
    unbind();
    tasks_.cancel_all();
    while (!idle_.empty()) {
        ++counted_.closed;
        destroy(idle_.take_oldest());
    }
    references_ += lent_.size();  // each lease gives one back when it ends
    release();
}

}  // namespace weir::detail
