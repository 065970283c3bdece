// SPDX-License-Identifier: MIT
// While somebody is in the line, one task asks about all of them at once; if the first has to wait
// it sleeps as long as the answer said, or until the line in front has changed. What the answer
// grants to those who have left meanwhile goes back with the next question.
//
// A question without an answer is asked once more; then Redis counts as away: all in the line are
// answered by the user's choice, and so is whoever comes, at once, while the task asks from time to
// time whether Redis is there again. What was taken by a question whose answer was lost stays
// taken: the limit is kept, and somebody waits longer. Refunds are sent once for the same reason.

#include <weir/cancel.hpp>
#include <weir/db/redis/detail/shared_line.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <cmath>

namespace weir::redis::detail {

namespace {

constexpr std::size_t most_at_once = 256;  // in one question: the others wait for the next

}  // namespace

using state = shared_waiter::state;

void shared_line::start() {
    running_ = spawn(run(shared_from_this()), {.name = "shared limiter"});
    is_driving_ = true;
}

task<> shared_line::run(std::shared_ptr<shared_line> own) {
    // If it is stopped, with the loop, nobody is left waiting.
    struct at_the_end {
        shared_line& of;
        ~at_the_end() {
            of.is_driving_ = false;
            while (of.first_ != nullptr) {
                of.is_closed_ = true;
                of.answer(*of.first_, state::gone);
            }
        }
    };
    const at_the_end tells{*own};
    co_await own->drive();
}

task<> shared_line::drive() {
    struct mark {
        cancel_scope*& place;
        ~mark() { place = nullptr; }
    };
    while (first_ != nullptr || !refunds_.empty() || is_away_) {
        if (is_away_) {
            co_await come_back();
        } else if (first_ != nullptr && due_ > weir::now()) {
            cancel_scope until(due_);
            const mark here{pause_ = &until};
            co_await until.run(sleep_forever());
        } else {
            co_await ask();
        }
    }
    due_ = clock::time_point::min();
}

task<> shared_line::ask() {
    shared_question question;
    asked_.clear();
    for (shared_waiter* each = first_; each != nullptr && asked_.size() < most_at_once;
         each = each->next) {
        each->asked_as = asked_.size();
        asked_.push_back(each);
        question.weights.push_back(each->may_wait ? each->weight : -each->weight);
    }
    question.refunds.swap(refunds_);
    due_ = clock::time_point::min();
    const outcome<shared_answer> said = co_await try_to_ask(question);
    if (said.has_value()) {
        take_answer(said.value(), question);
    } else {
        go_away(said.error());
    }
}

task<outcome<shared_answer>> shared_line::try_to_ask(shared_question& question) {
    const clock::time_point end = weir::detail::after(weir::now(), timeout_);
    for (bool is_first = true;; is_first = false) {
        ++counts_.questions;
        outcome<shared_answer> said = co_await settle(timeout_at(end, decision_->ask(question)));
        if (said.has_value() && said.value().waits.size() > question.weights.size()) {
            said = outcome<shared_answer>::from_error(std::make_exception_ptr(
                invalid_state("the answer is about more than was asked for")));
        }
        if (said.has_value()) {
            co_return said;
        }
        ++counts_.unanswered;
        question.refunds.clear();
        if (!is_first || weir::now() >= end) {
            co_return said;
        }
    }
}

void shared_line::take_answer(const shared_answer& said, const shared_question& asked) {
    const clock::time_point now = weir::now();
    bool first_waits = false;
    for (std::size_t i = 0; i < said.waits.size(); ++i) {
        shared_waiter* const waiting = asked_[i];
        if (waiting == nullptr) {
            if (said.waits[i] == clock::duration::zero()) {
                refund_later(std::abs(asked.weights[i]), said.at);
            }
            continue;
        }
        if (said.waits[i] == clock::duration::zero()) {
            waiting->at = said.at;
            ++counts_.granted;
            counts_.waited += waiting->has_waited ? 1 : 0;
            counts_.time_waited += now - waiting->since;
            answer(*waiting, state::granted);
        } else if (!waiting->may_wait || said.waits[i] == refusal::never) {
            refuse(*waiting, {refusal_reason::rate_limited, said.waits[i]});
        } else {
            // Those ahead of it have passed or were refused: it is the first.
            due_ = weir::detail::after(now, said.waits[i]);
            first_waits = waiting == first_;
        }
    }
    for (shared_waiter* const each : asked_) {
        if (each != nullptr) {
            each->asked_as = shared_waiter::none;
        }
    }
    asked_.clear();
    if (!refunds_.empty()) {
        due_ = clock::time_point::min();
    } else if (first_waits) {
        refuse_late(now);
    } else {
        due_ = clock::time_point::min();
    }
}

void shared_line::go_away(const std::exception_ptr& why) noexcept {
    try {
        std::rethrow_exception(why);
    } catch (const std::exception& error) {
        trouble_ = error.what();
    } catch (...) {
        trouble_ = "an exception of an unknown type";
    }
    is_away_ = true;
    next_probe_ = weir::detail::after(weir::now(), probe_every_);
    refunds_.clear();
    asked_.clear();
    for (shared_waiter* each = first_; each != nullptr; each = each->next) {
        each->asked_as = shared_waiter::none;
    }
    tell("away");
    while (first_ != nullptr) {
        answer(*first_, state::away);
    }
}

task<> shared_line::come_back() {
    shared_question nothing;
    for (;;) {
        co_await sleep_until(next_probe_);
        ++counts_.questions;
        const outcome<shared_answer> said =
            co_await settle(timeout(timeout_, decision_->ask(nothing)));
        if (said.has_value()) {
            break;
        }
        ++counts_.unanswered;
        next_probe_ = weir::detail::after(weir::now(), probe_every_);
    }
    is_away_ = false;
    trouble_.clear();
    due_ = clock::time_point::min();
    tell("back");
    // In the order in which they came: the newest is the first in the list.
    alone* oldest = alone_;
    while (oldest != nullptr && oldest->next != nullptr) {
        oldest = oldest->next;
    }
    for (; oldest != nullptr; oldest = oldest->previous) {
        oldest->until_back.cancel();
    }
}

void shared_line::wake() noexcept {
    due_ = clock::time_point::min();
    if (pause_ != nullptr) {
        pause_->cancel();
    }
}

void shared_line::revise() noexcept {
    tell("rate changed");
    const double most = decision_->capacity();
    for (shared_waiter* each = first_; each != nullptr;) {
        shared_waiter& waiting = *each;
        each = each->next;
        if (waiting.weight > most) {
            refuse(waiting, {refusal_reason::rate_limited, refusal::never});
        }
    }
    wake();
}

void shared_line::tell(std::string_view what) noexcept {
    if (observer_ != nullptr) {
        observer_->on_event({kind_, name_, what, weir::now()});
    }
}

shared_limiter_stats shared_line::stats() const noexcept {
    shared_limiter_stats now = counts_;
    now.waiting = count_;
    now.weight_waiting = weight_;
    now.is_away = is_away_;
    return now;
}

void shared_line::write_metrics(metric_writer& to) const {
    weir::detail::write_limiter_metrics(to, kind_, name_, stats());
    const auto count = [](auto number) { return static_cast<double>(number); };
    const metric_writer::labels own = {{"kind", kind_}, {"name", name_}};
    to.counter("weir_limiter_questions_total", "Questions to Redis", own, count(counts_.questions));
    to.counter("weir_limiter_unanswered_total", "Questions without an answer", own,
               count(counts_.unanswered));
    to.counter("weir_limiter_granted_alone_total", "Requests admitted while Redis was away", own,
               count(counts_.granted_alone));
    to.gauge("weir_limiter_away", "1 while Redis does not answer", own, is_away_ ? 1 : 0);
}

}  // namespace weir::redis::detail
