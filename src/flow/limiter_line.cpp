// SPDX-License-Identifier: MIT
// How the line in front of a limiter moves.
//
// serve() is the only place that lets waiters through: it asks the decision for the first in line, until
// one is told to wait, and arms the timer for that one. It runs when the timer fires, when the first in
// line leaves, when something was given back, and when the rate has changed. Nobody is let through
// without the decision having said so at that moment, so it does not matter how late a timer is or who
// else takes from a shared decision meanwhile.

#include <weir/error.hpp>
#include <weir/flow/bad_option.hpp>
#include <weir/flow/limiter_line.hpp>
#include <weir/timeout.hpp>

#include <cstdio>

namespace weir::detail {

limiter_line::limiter_line(const line_options& options)
    : max_waiting_(options.max_waiting),
      max_wait_(options.max_wait),
      when_full_(options.when_full),
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

bool limiter_line::must_refuse(limiter_waiter& asking, clock::time_point now,
                               clock::duration wait_alone) noexcept {
    if (max_waiting_ == 0 || wait_alone == refusal::never) {
        asking.why_ = {refusal_reason::rate_limited, wait_alone};
        ++refused_;
        return true;
    }
    if (waiting_ >= max_waiting_ && when_full_ == when_full::refuse_newest) {
        // There is room when the first in line has gone.
        const clock::duration until = is_armed() ? timer_due() - now : clock::duration::zero();
        asking.why_ = {refusal_reason::queue_full, std::max(until, clock::duration(1))};
        ++refused_;
        return true;
    }
    const clock::time_point deadline = current_deadline();
    asking.latest_ = std::min(deadline, after(now, max_wait_));
    if (asking.latest_ == clock::time_point::max()) {
        return false;
    }
    const clock::time_point due =
        has_waiting() ? due_behind_all(now, asking.weight_) : after(now, wait_alone);
    if (due <= asking.latest_) {
        return false;
    }
    // What the caller's own deadline makes too late will be so whenever it asks again; what max_wait
    // makes too late will not, once the line is short enough.
    const clock::duration beyond = due - now - max_wait_;
    asking.why_ = {refusal_reason::wait_too_long,
                   beyond > clock::duration::zero() ? beyond : due - now};
    ++refused_;
    return true;
}

bool limiter_line::enter(limiter_waiter& last) noexcept {
    loop& here = static_cast<loop&>(*this_thread.loop);
    if (home_id_ != here.id()) [[unlikely]] {
        if (line_.has_waiting()) {
            last.state_ = wait_state::wrong_loop;
            return false;
        }
        home_ = &here;
        home_id_ = here.id();
    }
    bool first_is_new = !line_.has_waiting();
    if (waiting_ >= max_waiting_ && !first_is_new) {
        first_is_new = true;
        limiter_waiter& oldest = at(line_.first_waiting());
        const clock::time_point due = timer_due();
        ++displaced_;
        refuse(oldest,
               {refusal_reason::displaced, std::max(due - last.since_, clock::duration(1))});
        if (observer_ != nullptr) {
            observer_->on_event({kind_, name_, "displaced", last.since_});
        }
    }
    last.state_ = wait_state::waiting;
    line_.append(last);
    ++waiting_;
    weight_waiting_ += last.weight_;
    if (first_is_new) {
        serve(last.since_);
    }
    return true;
}

void limiter_line::remove_waiting(limiter_waiter& gone) noexcept {
    line_.remove(gone);
    // Fractions may not add up to zero again.
    weight_waiting_ = --waiting_ == 0 ? 0 : weight_waiting_ - gone.weight_;
}

void limiter_line::leave(limiter_waiter& gone) noexcept {
    const wait_state was = std::exchange(gone.state_, wait_state::idle);
    if (was == wait_state::waiting) {
        ++cancelled_;
        const bool was_first = &line_.first_waiting() == &gone;
        remove_waiting(gone);
        if (was_first) {
            serve(home().now());
        }
    } else if (was == wait_state::granted) {
        ++cancelled_;
        --granted_;
        --waited_;
        time_waited_ -= gone.granted_ - gone.since_;
        line_.remove_granted(gone);
        const clock::time_point now = home().now();
        give_back(now, gone.weight_, gone.granted_);
        serve(now);
    }
}

void limiter_line::refuse(limiter_waiter& waiting, const refusal& why) noexcept {
    remove_waiting(waiting);
    ++refused_;
    waiting.why_ = why;
    waiting.state_ = wait_state::refused;
    waiting.answered(home());
}

void limiter_line::serve(clock::time_point now) noexcept {
    while (line_.has_waiting()) {
        limiter_waiter& first = at(line_.first_waiting());
        const decision::verdict said = take(now, first.weight_);
        if (!said.granted) {
            if (said.wait == refusal::never) {
                refuse(first, {refusal_reason::rate_limited, refusal::never});
                continue;
            }
            if (after(now, said.wait) > first.latest_) {
                // Somebody else, or a lower rate, has made it wait longer than it can.
                refuse(first, {refusal_reason::wait_too_long, said.wait});
                continue;
            }
            arm(now, said.wait);
            return;
        }
        line_.advance();
        weight_waiting_ = --waiting_ == 0 ? 0 : weight_waiting_ - first.weight_;
        ++granted_;
        ++waited_;
        time_waited_ += now - first.since_;
        first.granted_ = now;
        first.state_ = wait_state::granted;
        first.answered(home());
    }
    if (is_armed()) {
        home().disarm(*this);
    }
}

void limiter_line::arm(clock::time_point now, clock::duration wait) noexcept {
    home().arm(*this, after(now, std::max(wait, clock::duration(1))));
}

void limiter_line::fire() noexcept {
    serve(home().now());
}

void limiter_line::revise(clock::time_point now) noexcept {
    if (observer_ != nullptr) {
        observer_->on_event({kind_, name_, "rate changed", now});
    }
    serve(now);
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
        first.answered(home());
    }
    if (is_armed()) {
        home().disarm(*this);
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
    const auto count = [](auto number) { return static_cast<double>(number); };
    const metric_writer::labels own = {{"kind", kind_}, {"name", name_}};
    to.counter("weir_limiter_granted_total", "Let through", own, count(granted_));
    to.counter("weir_limiter_waited_total", "Let through after waiting", own, count(waited_));
    to.counter("weir_limiter_refused_total", "Told no", own, count(refused_));
    to.counter("weir_limiter_displaced_total", "Told no after waiting, to make room", own,
               count(displaced_));
    to.counter("weir_limiter_cancelled_total", "Stopped while they waited", own, count(cancelled_));
    to.counter("weir_limiter_wait_seconds_total", "Time that those let through have waited", own,
               std::chrono::duration<double>(time_waited_).count());
    to.gauge("weir_limiter_waiting", "Waiting now", own, count(waiting_));
}

}  // namespace weir::detail
