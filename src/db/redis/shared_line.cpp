// SPDX-License-Identifier: MIT
// Who comes, waits, leaves and is told; shared_line_task.cpp asks. Whoever comes while it is known
// that the first has to wait asks nobody: it waits behind the others, or is told at once that it
// would be too long.

#include "base/option_checks.hpp"

#include <weir/db/redis/detail/shared_line.hpp>
#include <weir/error.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace weir::redis::detail {

using state = shared_waiter::state;

// However its coroutine ends, a waiter leaves no trace.
struct shared_line::place {
    shared_line& line;
    shared_waiter& mine;
    ~place() {
        if (mine.now == state::waiting) {
            line.leave(mine);
        } else if (mine.now == state::granted) {
            line.refund_later(mine.weight, mine.at);
            --line.counts_.granted;
            ++line.counts_.cancelled;
        }
    }
};

shared_line::shared_line(std::unique_ptr<shared_decision> by, const shared_line_options& options)
    : decision_(std::move(by)),
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
    while (first_ != nullptr) {
        answer(*first_, state::gone);
    }
    for (alone* each = alone_; each != nullptr; each = each->next) {
        each->until_back.cancel();
    }
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

// ---- who asks

task<admission<shared_pass>> shared_line::admit(std::shared_ptr<shared_line> own, double weight,
                                                bool may_wait) {
    const clock::time_point since = weir::now();
    for (;;) {
        if (own->is_closed_) {
            weir::detail::throw_wait_error(weir::detail::wait_state::orphaned, "rate limiter");
        }
        if (own->is_away_) {
            std::optional<admission<shared_pass>> said =
                co_await own->answer_alone(weight, may_wait, since);
            if (said.has_value()) {
                co_return std::move(*said);
            }
            continue;  // Redis is there again
        }
        shared_waiter mine;
        mine.weight = weight;
        mine.may_wait = may_wait && own->max_waiting_ > 0;
        mine.since = since;
        mine.latest = std::min(current_deadline(), weir::detail::after(since, own->max_wait_));
        const std::optional<refusal> at_once = own->enter(mine);
        if (at_once.has_value()) {
            co_return *at_once;
        }
        const place holds{*own, mine};
        co_await mine.answered.wait();
        const state how = std::exchange(mine.now, state::done);
        if (how == state::granted) {
            shared_pass in;
            in.waited = weir::now() - since;
            in.at = mine.at;
            in.is_shared = true;
            co_return in;
        }
        if (how == state::refused) {
            co_return mine.why;
        }
    }
}

task<std::optional<admission<shared_pass>>> shared_line::answer_alone(double weight, bool may_wait,
                                                                      clock::time_point since) {
    using answered = std::optional<admission<shared_pass>>;
    if (when_away_ == when_away::allow) {
        co_return answered(pass_alone(since));
    }
    if (when_away_ == when_away::refuse) {
        ++counts_.refused;
        co_return answered(refusal{refusal_reason::circuit_open,
                                   std::max(next_probe_ - weir::now(), clock::duration::zero())});
    }
    if (!may_wait) {
        const admission<let_through> in = decision_->try_alone(weight);
        if (in) {
            co_return answered(pass_alone(since));
        }
        ++counts_.refused;
        co_return answered(in.refusal());
    }
    alone mine(*this);
    const std::optional<admission<let_through>> in =
        co_await mine.until_back.run(decision_->admit_alone(weight));
    if (!in.has_value()) {
        co_return std::nullopt;
    }
    if (*in) {
        co_return answered(pass_alone(since));
    }
    ++counts_.refused;
    co_return answered(in->refusal());
}

admission<shared_pass> shared_line::pass_alone(clock::time_point since) noexcept {
    ++counts_.granted;
    ++counts_.granted_alone;
    shared_pass in;
    in.waited = weir::now() - since;
    return in;
}

task<clock::duration> shared_line::look(std::shared_ptr<shared_line> own, double weight) {
    shared_question question;
    question.weights.push_back(weight);
    question.only_look = true;
    const shared_answer said = co_await timeout(own->timeout_, own->decision_->ask(question));
    if (said.waits.empty() || said.waits.front() == refusal::never) {
        co_return refusal::never;
    }
    const clock::time_point now = weir::now();
    const clock::duration here =
        own->first_ != nullptr ? own->earliest(own->weight_, weight) - now : clock::duration();
    co_return std::max(said.waits.front(), here);
}

std::optional<refusal> shared_line::enter(shared_waiter& asking) {
    const clock::time_point now = weir::now();
    if (first_ != nullptr && due_ > now) {
        // It is known that the first has to wait: who comes now asks nobody.
        const clock::time_point due = earliest(weight_, asking.weight);
        if (asking.may_wait && count_ >= max_waiting_) {
            ++counts_.refused;
            return refusal{refusal_reason::queue_full, due_ - now};
        }
        if (const std::optional<refusal> why = why_not_wait(asking, due, now)) {
            ++counts_.refused;
            return why;
        }
        asking.has_waited = true;
    }
    asking.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &asking;
    last_ = &asking;
    ++count_;
    weight_ += asking.weight;
    if (!is_driving_) {
        start();
    }
    return std::nullopt;
}

void shared_line::unlink(shared_waiter& gone) noexcept {
    (gone.previous != nullptr ? gone.previous->next : first_) = gone.next;
    (gone.next != nullptr ? gone.next->previous : last_) = gone.previous;
    // Fractions may not add up to zero again.
    weight_ = --count_ == 0 ? 0 : weight_ - gone.weight;
    if (gone.asked_as != shared_waiter::none) {
        asked_[gone.asked_as] = nullptr;
        gone.asked_as = shared_waiter::none;
    }
}

void shared_line::leave(shared_waiter& gone) noexcept {
    const bool was_first = &gone == first_;
    unlink(gone);
    gone.now = state::done;
    ++counts_.cancelled;
    if (was_first) {
        wake();  // the next one may be able to pass
    }
}

void shared_line::answer(shared_waiter& waiting, state how) noexcept {
    unlink(waiting);
    waiting.now = how;
    waiting.answered.set();
}

void shared_line::refuse(shared_waiter& waiting, const refusal& why) noexcept {
    waiting.why = why;
    ++counts_.refused;
    answer(waiting, state::refused);
}

void shared_line::refund_later(double weight, server_time taken) noexcept {
    if (is_closed_ || is_away_) {
        return;
    }
    try {
        refunds_.push_back({weight, taken});
        if (!is_driving_) {
            start();
        }
        ++counts_.given_back;
        wake();
    } catch (...) {  // the loop is ending, or there is no memory: it stays taken
        refunds_.clear();
    }
}

clock::time_point shared_line::earliest(double ahead, double weight) const noexcept {
    const double behind_first = first_ != nullptr ? ahead - first_->weight : ahead;
    return weir::detail::after(std::max(due_, weir::now()),
                               decision_->time_of(std::max(0.0, behind_first) + weight));
}

std::optional<refusal> shared_line::why_not_wait(const shared_waiter& waiting,
                                                 clock::time_point due,
                                                 clock::time_point now) const noexcept {
    if (!waiting.may_wait) {
        return refusal{refusal_reason::rate_limited, due - now};
    }
    if (due <= waiting.latest) {
        return std::nullopt;
    }
    // What max_wait makes too late may wait once the line is short enough.
    const bool by_max_wait = waiting.latest == weir::detail::after(waiting.since, max_wait_);
    return refusal{refusal_reason::wait_too_long, by_max_wait ? due - waiting.latest : due - now};
}

void shared_line::refuse_late(clock::time_point now) noexcept {
    double ahead = 0;
    std::size_t place = 0;
    for (shared_waiter* each = first_; each != nullptr;) {
        shared_waiter& waiting = *each;
        each = each->next;
        const clock::time_point due = &waiting == first_ ? due_ : earliest(ahead, waiting.weight);
        const bool was_first = &waiting == first_;
        if (const std::optional<refusal> why = why_not_wait(waiting, due, now)) {
            refuse(waiting, *why);
        } else if (place >= max_waiting_) {
            refuse(waiting, {refusal_reason::queue_full, due_ - now});
        } else {
            waiting.has_waited = true;
            ahead += waiting.weight;
            ++place;
            continue;
        }
        if (was_first) {
            due_ = clock::time_point::min();  // the next one may be able to pass
            return;
        }
    }
}

}  // namespace weir::redis::detail
