// SPDX-License-Identifier: MIT
// How the line of a limiter moves.
//
// The line is kept in the order of service: a new waiter is appended, or with newest_first put in
// front. serve() is the only function that admits waiters: it asks the decision for the first
// waiter until one has to wait, and arms the timer for that one. It runs when the timer fires, when
// the first waiter changes, when tokens are given back and when the rate changes. Every admission
// is decided at the moment it is made, so a late timer or other users of a shared decision do no
// harm.
//
// Oldest first: a waiter in the line will be admitted in time, as far as that is predictable.
// Newest first: waiters may be overtaken again and again, so the timer also watches the oldest
// waiter.

#include "base/option_checks.hpp"

#include <weir/error.hpp>
#include <weir/flow/detail/limiter_line.hpp>
#include <weir/timeout.hpp>

#include <cstdio>

namespace weir::detail {

limiter_line::limiter_line(const line_options& options)
    : max_waiting_(options.max_waiting),
      max_wait_(options.max_wait),
      when_full_(options.when_full),
      newest_first_(options.order == weir::queue_order::newest_first),
      observer_(options.observer),
      kind_(options.kind),
      name_(options.name) {
    if (options.max_wait < clock::duration::zero()) {
        throw_bad_option(options.kind, "max_wait", options.max_wait, "zero or more");
    }
}

void limiter_line::throw_bad_weight(double weight, double most) const {
    char text[160];
    if (weight > most) {
        std::snprintf(text, sizeof text, ": %g can never pass: at most %g pass at once", weight,
                      most);
    } else {
        std::snprintf(text, sizeof text, ": the weight is %g; it must be a positive number",
                      weight);
    }
    throw invalid_argument((name_.empty() ? kind_ : name_) + text);
}

bool limiter_line::must_refuse(limiter_waiter& waiter, clock::time_point now,
                               clock::duration wait_alone) noexcept {
    if (max_waiting_ == 0 || wait_alone == refusal::never) {
        waiter.why_ = {refusal_reason::rate_limited, foreseen(wait_alone)};
        ++refused_;
        return true;
    }
    if (waiting_ >= max_waiting_ && when_full_ == when_full::refuse_newest) {
        // There is room when the first waiter has left.
        const clock::duration until = is_armed() ? timer_due() - now : clock::duration::zero();
        waiter.why_ = {refusal_reason::queue_full, std::max(until, clock::duration::zero())};
        ++refused_;
        return true;
    }
    const clock::time_point deadline = current_deadline();
    const clock::time_point latest = after(now, max_wait_);
    waiter.latest_ = std::min(deadline, latest);
    waiter.late_ = late_reason(deadline, latest);
    if (waiter.latest_ == clock::time_point::max()) {
        return false;
    }
    const clock::time_point due = due_of_new(now, waiter.weight_);
    if (due <= waiter.latest_ || due == clock::time_point::max()) {
        return false;
    }
    // A request above max_wait may wait once the line is short enough; one past the deadline around
    // the caller is admitted when all ahead of it have been.
    waiter.why_ = {waiter.late_, due - (deadline < latest ? now : latest)};
    ++refused_;
    return true;
}

bool limiter_line::bind() noexcept {
    loop& here = static_cast<loop&>(*this_thread.loop);
    if (home_id_ != here.id()) [[unlikely]] {
        if (!line_.is_empty()) {
            return false;
        }
        home_ = &here;
        home_id_ = here.id();
    }
    return true;
}

loop* limiter_line::running_home() const noexcept {
    loop* here = loop::current_or_null();
    return here != nullptr && here->id() == home_id_ ? here : nullptr;
}

bool limiter_line::enter(limiter_waiter& waiter) noexcept {
    if (!bind()) {
        waiter.state_ = wait_state::wrong_loop;
        return false;
    }
    bool next_is_new = newest_first_ || !has_waiting();
    const bool displaces = waiting_ >= max_waiting_ && has_waiting();
    if (displaces) {
        next_is_new = true;
        ++displaced_;
        const clock::duration until = is_armed() ? timer_due() - waiter.since_ : clock::duration();
        refuse(oldest(), {refusal_reason::displaced, std::max(until, clock::duration::zero())});
    }
    waiter.state_ = wait_state::waiting;
    add_waiting(waiter);
    if (next_is_new) {
        serve(waiter.since_);
    }
    if (displaces && observer_ != nullptr) {
        observer_->on_event({kind_, name_, "displaced", waiter.since_});
    }
    return true;
}

wait_state limiter_line::place(limiter_waiter& waiter, clock::time_point now) noexcept {
    waiter.since_ = now;
    if (!bind()) {
        return wait_state::wrong_loop;
    }
    decision::verdict answer;
    if (!has_ahead()) {
        answer = take(now, waiter.weight_);
        if (answer.granted) {
            add_waiting(waiter);
            admit(waiter, now);
            return waiter.state_;
        }
    }
    if (must_refuse(waiter, now, answer.wait)) {
        return waiter.state_ = wait_state::refused;
    }
    enter(waiter);
    return waiter.state_;
}

void limiter_line::add_waiting(limiter_waiter& added) noexcept {
    newest_first_ ? line_.prepend(added) : line_.append(added);
    ++waiting_;
    weight_waiting_ += added.weight_;
}

void limiter_line::remove_waiting(limiter_waiter& gone) noexcept {
    line_.remove(gone);
    // Sums of fractions may not return to zero.
    weight_waiting_ = --waiting_ == 0 ? 0 : weight_waiting_ - gone.weight_;
}

void limiter_line::leave(limiter_waiter& gone) noexcept {
    const wait_state was = std::exchange(gone.state_, wait_state::idle);
    loop* const home = running_home();
    ++cancelled_;
    if (was == wait_state::waiting) {
        const bool was_first = &line_.first_waiting() == &gone;
        remove_waiting(gone);
        if (was_first && home != nullptr) {
            serve(home->now());
        }
        return;
    }
    line_.remove_granted(gone);
    --granted_;
    if (gone.granted_ != gone.since_) {
        --waited_;
        time_waited_ -= gone.granted_ - gone.since_;
    }
    if (home != nullptr) {
        const clock::time_point now = home->now();
        give_back(now, gone.weight_, gone.granted_);
        move_up(now);
    }
}

void limiter_line::refuse(limiter_waiter& waiting, const refusal& why) noexcept {
    remove_waiting(waiting);
    ++refused_;
    waiting.why_ = why;
    waiting.state_ = wait_state::refused;
    waiting.notify(*home_);
}

// Admits the first waiter, whose weight the decision has granted.
void limiter_line::admit(limiter_waiter& first, clock::time_point now) noexcept {
    line_.advance();
    weight_waiting_ = --waiting_ == 0 ? 0 : weight_waiting_ - first.weight_;
    ++granted_;
    if (now != first.since_) {
        ++waited_;
        time_waited_ += now - first.since_;
    }
    first.granted_ = now;
    first.state_ = wait_state::granted;
    first.notify(*home_);
}

// Arms the timer for the first waiter. False: it can no longer be admitted in time and was refused.
bool limiter_line::wait_for_turn(limiter_waiter& first, clock::time_point now,
                                 clock::duration wait) noexcept {
    if (wait == refusal::never) {
        refuse(first, {refusal_reason::rate_limited, refusal::never});
        return false;
    }
    clock::time_point due = after(now, wait);
    if (wait == decision::verdict::unforeseen) {
        if (now >= first.latest_) {
            refuse(first, {first.late_, {}});
            return false;
        }
        due = first.latest_;
    } else if (due > first.latest_) {
        // Another user of the decision, or a lower rate, has made the wait too long.
        refuse(first, {first.late_, wait});
        return false;
    }
    due = std::min(due, end_of_oldest());
    if (due == clock::time_point::max()) {
        if (is_armed()) {
            home_->disarm(*this);
        }
    } else {
        home_->arm(*this, due);
    }
    return true;
}

void limiter_line::serve(clock::time_point now) noexcept {
    while (line_.has_waiting()) {
        limiter_waiter& first = at(line_.first_waiting());
        const decision::verdict answer = take(now, first.weight_);
        if (answer.granted) {
            admit(first, now);
        } else if (end_of_oldest() <= now) {
            refuse(oldest(), {refusal_reason::wait_too_long, foreseen(answer.wait)});
        } else if (wait_for_turn(first, now, answer.wait)) {
            return;
        }
    }
    if (is_armed()) {
        home_->disarm(*this);
    }
}

void limiter_line::fire() noexcept {
    serve(home_->now());
}

void limiter_line::revise(clock::time_point now) noexcept {
    if (observer_ != nullptr) {
        observer_->on_event({kind_, name_, "rate changed", now});
    }
    if (has_waiting()) {
        serve(now);
        refuse_late(now);
    }
}

void limiter_line::close() noexcept {
    while (line_.has_granted()) {
        limiter_waiter& first = at(line_.first());
        line_.remove_granted(first);
        first.state_ = wait_state::orphaned;
    }
    while (line_.has_waiting()) {
        limiter_waiter& first = at(line_.first_waiting());
        remove_waiting(first);
        first.state_ = wait_state::orphaned;
        first.notify(*home_);
    }
    if (is_armed()) {
        home_->disarm(*this);
    }
}

limiter_stats limiter_line::stats() const noexcept {
    return {.granted = granted_,
            .waited = waited_,
            .refused = refused_,
            .displaced = displaced_,
            .cancelled = cancelled_,
            .time_waited = time_waited_,
            .waiting = waiting_,
            .weight_waiting = weight_waiting_};
}

void limiter_line::write_metrics(metric_writer& to) const {
    write_limiter_metrics(to, kind_, name_, stats());
}

void write_limiter_metrics(metric_writer& to, std::string_view kind, std::string_view name,
                           const limiter_stats& stats) {
    const auto count = [](auto number) { return static_cast<double>(number); };
    const metric_writer::labels own = {{"kind", kind}, {"name", name}};
    to.counter("weir_limiter_granted_total", "Requests admitted", own, count(stats.granted));
    to.counter("weir_limiter_waited_total", "Requests admitted after a wait", own,
               count(stats.waited));
    to.counter("weir_limiter_refused_total", "Requests refused", own, count(stats.refused));
    to.counter("weir_limiter_displaced_total", "Waiting requests refused to make room", own,
               count(stats.displaced));
    to.counter("weir_limiter_cancelled_total", "Requests stopped while waiting", own,
               count(stats.cancelled));
    to.counter("weir_limiter_wait_seconds_total", "Time that admitted requests have waited", own,
               std::chrono::duration<double>(stats.time_waited).count());
    to.gauge("weir_limiter_waiting", "Requests waiting now", own, count(stats.waiting));
}

}  // namespace weir::detail
