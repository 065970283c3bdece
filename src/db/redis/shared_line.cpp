// SPDX-License-Identifier: MIT
// A task that comes while the first is known to have to wait causes no question: it waits behind
// the others, or is refused at once if that would take too long.
//
// While tasks wait, one task of the line asks about all of them at once; if the first has to wait,
// it sleeps as long as the answer said, or until the front of the line changes. Tokens granted to
// tasks that have left meanwhile are refunded with the next question.
//
// A question without an answer is sent once more; then Redis counts as away: all tasks in the line
// are answered by the user's choice (when_away), and so are later ones, at once, while the line's
// task probes whether Redis is back. Tokens that a question took whose answer was lost stay taken:
// the limit is kept, and a task waits longer. Refunds are sent once for the same reason.

#include "db/redis/shared_line.hpp"

#include "base/option_checks.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace weir::redis::detail {

using state = shared_waiter::state;

// However its coroutine ends, a waiter leaves nothing behind.
struct shared_line::leave_guard {
    shared_line& line;
    shared_waiter& waiter;
    ~leave_guard() {
        if (waiter.now == state::waiting) {
            line.leave(waiter);
        } else if (waiter.now == state::granted) {
            line.refund_later(waiter.weight, waiter.granted_at);
            --line.counts_.granted;
            ++line.counts_.cancelled;
        }
    }
};

shared_line::shared_line(std::unique_ptr<shared_decision> decision,
                         const shared_line_options& options)
    : decision_(std::move(decision)),
      kind_(options.kind),
      name_(options.name),
      max_waiting_(options.max_waiting),
      max_wait_(options.max_wait),
      when_away_(options.when_away),
      timeout_(options.timeout),
      probe_every_(options.probe_every),
      observer_(options.observer) {
    using weir::detail::throw_bad_option;
    if (max_wait_ < clock::duration::zero()) {
        throw_bad_option(kind_, "max_wait", max_wait_, "zero or more");
    }
    if (timeout_ <= clock::duration::zero()) {
        throw_bad_option(kind_, "timeout", timeout_, "more than 0");
    }
    if (probe_every_ <= clock::duration::zero()) {
        throw_bad_option(kind_, "probe_every", probe_every_, "more than 0");
    }
}

void shared_line::stop() noexcept {
    is_closed_ = true;
    if (is_driving_) {
        running_.cancel();
    }
    answer_all(state::closed);
    outage_.end_waits();
}

void shared_line::check(double weight) const {
    const double most = decision_->capacity();
    char text[160];
    if (weight > 0 && weight <= most) {
        return;
    }
    if (weight > most) {
        std::snprintf(text, sizeof text, ": %g can never pass: at most %g pass at once", weight,
                      most);
    } else {
        std::snprintf(text, sizeof text, ": the weight is %g; it must be a positive number",
                      weight);
    }
    throw invalid_argument(name_ + text);
}

// ---- waiting

task<admission<shared_pass>> shared_line::admit(std::shared_ptr<shared_line> self, double weight,
                                                bool may_wait) {
    const clock::time_point since = weir::now();
    for (;;) {
        if (self->is_closed_) {
            weir::detail::throw_wait_error(weir::detail::wait_state::orphaned, "rate limiter");
        }
        if (self->outage_.is_on()) {
            std::optional<admission<shared_pass>> answered =
                co_await self->answer_alone(weight, may_wait, since);
            if (answered.has_value()) {
                co_return std::move(*answered);
            }
            continue;
        }
        shared_waiter waiter;
        waiter.weight = weight;
        waiter.may_wait = may_wait && self->max_waiting_ > 0;
        waiter.since = since;
        waiter.latest = std::min(current_deadline(), weir::detail::after(since, self->max_wait_));
        const std::optional<refusal> refused = self->enter(waiter);
        if (refused.has_value()) {
            co_return *refused;
        }
        const leave_guard guard{*self, waiter};
        co_await waiter.answered.wait();
        const state result = std::exchange(waiter.now, state::done);
        if (result == state::granted) {
            shared_pass pass;
            pass.waited = weir::now() - since;
            pass.at = waiter.granted_at;
            pass.is_shared = true;
            co_return pass;
        }
        if (result == state::refused) {
            co_return waiter.refusal;
        }
    }
}

task<clock::duration> shared_line::look(std::shared_ptr<shared_line> self, double weight) {
    shared_question question;
    question.weights.push_back(weight);
    question.only_look = true;
    const shared_answer answered = co_await timeout(self->timeout_, self->decision_->ask(question));
    if (answered.waits.empty() || answered.waits.front() == refusal::never) {
        co_return refusal::never;
    }
    const clock::duration here =
        self->waiters_.empty() ? clock::duration()
                               : self->earliest(self->waiters_.weight(), weight) - weir::now();
    co_return std::max(answered.waits.front(), here);
}

std::optional<refusal> shared_line::enter(shared_waiter& waiter) {
    const clock::time_point now = weir::now();
    if (!waiters_.empty() && due_ > now) {
        const clock::time_point due = earliest(waiters_.weight(), waiter.weight);
        if (waiter.may_wait && waiters_.size() >= max_waiting_) {
            ++counts_.refused;
            return refusal{refusal_reason::queue_full, due_ - now};
        }
        if (const std::optional<refusal> reason = why_not_wait(waiter, due, now)) {
            ++counts_.refused;
            return reason;
        }
        waiter.has_waited = true;
    }
    waiters_.push_back(waiter);
    if (!is_driving_) {
        start();
    }
    return std::nullopt;
}

void shared_line::leave(shared_waiter& gone) noexcept {
    const bool was_first = waiters_.is_first(gone);
    waiters_.remove(gone);
    gone.now = state::done;
    ++counts_.cancelled;
    if (was_first) {
        ask_now();  // the next one may be able to pass
    }
}

void shared_line::answer(shared_waiter& waiter, state result) noexcept {
    waiters_.remove(waiter);
    waiter.now = result;
    waiter.answered.set();
}

void shared_line::answer_all(state result) noexcept {
    while (!waiters_.empty()) {
        answer(waiters_.first(), result);
    }
}

void shared_line::refuse(shared_waiter& waiter, const refusal& reason) noexcept {
    waiter.refusal = reason;
    ++counts_.refused;
    answer(waiter, state::refused);
}

void shared_line::refund_later(double weight, server_time taken) noexcept {
    if (is_closed_ || outage_.is_on()) {
        return;
    }
    try {
        refunds_.push_back({weight, taken});
        if (!is_driving_) {
            start();
        }
        ++counts_.given_back;
        ask_now();
    } catch (...) {  // the loop is ending, or out of memory: it stays taken
        refunds_.clear();
    }
}

clock::time_point shared_line::earliest(double ahead, double weight) const noexcept {
    const double behind_first = waiters_.empty() ? ahead : ahead - waiters_.first().weight;
    return weir::detail::after(std::max(due_, weir::now()),
                               decision_->time_of(std::max(0.0, behind_first) + weight));
}

std::optional<refusal> shared_line::why_not_wait(const shared_waiter& waiter, clock::time_point due,
                                                 clock::time_point now) const noexcept {
    if (!waiter.may_wait) {
        return refusal{refusal_reason::rate_limited, due - now};
    }
    if (due <= waiter.latest) {
        return std::nullopt;
    }
    // Beyond max_wait: it may wait once the line is short enough.
    const bool is_max_wait = waiter.latest == weir::detail::after(waiter.since, max_wait_);
    return is_max_wait ? refusal{refusal_reason::wait_too_long, due - waiter.latest}
                       : refusal{refusal_reason::past_deadline, due - now};
}

void shared_line::refuse_late(clock::time_point now) noexcept {
    double ahead = 0;
    std::size_t place = 0;
    for (auto next = waiters_.begin(); next != waiters_.end();) {
        shared_waiter& waiter = *next++;
        const bool is_first = waiters_.is_first(waiter);
        const clock::time_point due = is_first ? due_ : earliest(ahead, waiter.weight);
        if (const std::optional<refusal> reason = why_not_wait(waiter, due, now)) {
            refuse(waiter, *reason);
        } else if (place >= max_waiting_) {
            refuse(waiter, {refusal_reason::queue_full, due_ - now});
        } else {
            waiter.has_waited = true;
            ahead += waiter.weight;
            ++place;
            continue;
        }
        if (is_first) {
            due_ = clock::time_point::min();  // the next one may be able to pass
            return;
        }
    }
}

// ---- while Redis is away

task<std::optional<admission<shared_pass>>> shared_line::answer_alone(double weight, bool may_wait,
                                                                      clock::time_point since) {
    using answered = std::optional<admission<shared_pass>>;
    if (when_away_ == when_away::allow) {
        co_return answered(pass_alone(since));
    }
    if (when_away_ == when_away::refuse) {
        ++counts_.refused;
        const clock::duration until_probe = outage_.next_probe() - weir::now();
        co_return answered(
            refusal{refusal_reason::circuit_open, std::max(until_probe, clock::duration::zero())});
    }
    if (!may_wait) {
        const admission<let_through> alone = decision_->try_alone(weight);
        if (alone) {
            co_return answered(pass_alone(since));
        }
        ++counts_.refused;
        co_return answered(alone.refusal());
    }
    const std::optional<admission<let_through>> alone =
        co_await outage_.wait(decision_->admit_alone(weight));
    if (!alone.has_value()) {
        co_return std::nullopt;
    }
    if (*alone) {
        co_return answered(pass_alone(since));
    }
    ++counts_.refused;
    co_return answered(alone->refusal());
}

admission<shared_pass> shared_line::pass_alone(clock::time_point since) noexcept {
    ++counts_.granted;
    ++counts_.granted_alone;
    shared_pass pass;
    pass.waited = weir::now() - since;
    return pass;
}

void shared_line::begin_outage(const std::exception_ptr& reason) noexcept {
    outage_.begin(reason);
    outage_.set_next_probe(weir::detail::after(weir::now(), probe_every_));
    refunds_.clear();
    waiters_.end_question();
    notify_observer("away");
    answer_all(state::away);
}

task<> shared_line::wait_for_redis() {
    const shared_question probe;
    for (;;) {
        co_await sleep_until(outage_.next_probe());
        ++counts_.questions;
        const outcome<shared_answer> answered =
            co_await settle(timeout(timeout_, decision_->ask(probe)));
        if (answered.has_value()) {
            break;
        }
        ++counts_.unanswered;
        outage_.set_next_probe(weir::detail::after(weir::now(), probe_every_));
    }
    due_ = clock::time_point::min();
    outage_.end();
    notify_observer("back");
}

// ---- the task that asks

void shared_line::start() {
    running_ = spawn(run(shared_from_this()), {.name = "shared limiter"});
    is_driving_ = true;
}

task<> shared_line::run(std::shared_ptr<shared_line> self) {
    // If it is stopped, with the loop, no task is left waiting.
    struct end_guard {
        shared_line& line;
        ~end_guard() {
            line.is_driving_ = false;
            line.is_closed_ = line.is_closed_ || !line.waiters_.empty();
            line.answer_all(state::closed);
        }
    };
    const end_guard guard{*self};
    co_await self->drive();
}

task<> shared_line::drive() {
    struct reset_guard {
        cancel_scope*& pointer;
        ~reset_guard() { pointer = nullptr; }
    };
    while (!waiters_.empty() || !refunds_.empty() || outage_.is_on()) {
        if (outage_.is_on()) {
            co_await wait_for_redis();
        } else if (!waiters_.empty() && due_ > weir::now()) {
            cancel_scope until(due_);
            const reset_guard guard{pause_ = &until};
            co_await until.run(sleep_forever());
        } else {
            co_await ask();
        }
    }
    due_ = clock::time_point::min();
}

task<> shared_line::ask() {
    constexpr std::size_t most_at_once = 256;  // the others wait for the next question
    shared_question question;
    waiters_.fill(question, most_at_once);
    question.refunds.swap(refunds_);
    due_ = clock::time_point::min();
    const outcome<shared_answer> answered = co_await ask_within_timeout(question);
    if (answered.has_value()) {
        take_answer(answered.value(), question);
    } else {
        begin_outage(answered.error());
    }
}

task<outcome<shared_answer>> shared_line::ask_within_timeout(shared_question& question) {
    const clock::time_point end = weir::detail::after(weir::now(), timeout_);
    for (bool is_first = true;; is_first = false) {
        ++counts_.questions;
        outcome<shared_answer> answered =
            co_await settle(timeout_at(end, decision_->ask(question)));
        if (answered.has_value() && answered.value().waits.size() > question.weights.size()) {
            answered = outcome<shared_answer>::from_error(std::make_exception_ptr(
                invalid_state("the answer has more elements than the question")));
        }
        if (answered.has_value()) {
            co_return answered;
        }
        ++counts_.unanswered;
        question.refunds.clear();
        if (!is_first || weir::now() >= end) {
            co_return answered;
        }
    }
}

void shared_line::take_answer(const shared_answer& answered, const shared_question& question) {
    const clock::time_point now = weir::now();
    bool first_waits = false;
    for (std::size_t i = 0; i < answered.waits.size(); ++i) {
        const clock::duration wait = answered.waits[i];
        shared_waiter* const waiter = waiters_.at(i);
        if (waiter == nullptr) {
            if (wait == clock::duration::zero()) {
                refund_later(std::abs(question.weights[i]), answered.at);
            }
        } else if (wait == clock::duration::zero()) {
            waiter->granted_at = answered.at;
            ++counts_.granted;
            counts_.waited += waiter->has_waited ? 1 : 0;
            counts_.time_waited += now - waiter->since;
            answer(*waiter, state::granted);
        } else if (!waiter->may_wait || wait == refusal::never) {
            refuse(*waiter, {refusal_reason::rate_limited, wait});
        } else {
            // Those ahead of it have passed or were refused: it is the first.
            due_ = weir::detail::after(now, wait);
            first_waits = waiters_.is_first(*waiter);
        }
    }
    waiters_.end_question();
    if (refunds_.empty() && first_waits) {
        refuse_late(now);
    } else {
        due_ = clock::time_point::min();
    }
}

void shared_line::ask_now() noexcept {
    due_ = clock::time_point::min();
    if (pause_ != nullptr) {
        pause_->cancel();
    }
}

void shared_line::revise() noexcept {
    notify_observer("rate changed");
    const double most = decision_->capacity();
    for (auto next = waiters_.begin(); next != waiters_.end();) {
        shared_waiter& waiter = *next++;
        if (waiter.weight > most) {
            refuse(waiter, {refusal_reason::rate_limited, refusal::never});
        }
    }
    ask_now();
}

void shared_line::notify_observer(std::string_view what) noexcept {
    if (observer_ != nullptr) {
        observer_->on_event({kind_, name_, what, weir::now()});
    }
}

shared_limiter_stats shared_line::stats() const noexcept {
    shared_limiter_stats now = counts_;
    now.waiting = waiters_.size();
    now.weight_waiting = waiters_.weight();
    now.is_away = outage_.is_on();
    return now;
}

void shared_line::write_metrics(metric_writer& to) const {
    weir::detail::write_limiter_metrics(to, kind_, name_, stats());
    const auto count = [](auto number) { return static_cast<double>(number); };
    const metric_writer::labels labels = {{"kind", kind_}, {"name", name_}};
    to.counter("weir_limiter_questions_total", "Questions to Redis", labels,
               count(counts_.questions));
    to.counter("weir_limiter_unanswered_total", "Questions without an answer", labels,
               count(counts_.unanswered));
    to.counter("weir_limiter_granted_alone_total", "Requests admitted while Redis was away", labels,
               count(counts_.granted_alone));
    to.gauge("weir_limiter_away", "1 while Redis does not answer", labels, outage_.is_on() ? 1 : 0);
}

}  // namespace weir::redis::detail
