// SPDX-License-Identifier: MIT
// A hedged call is a race. The attempts are tasks; the caller sleeps until an attempt ends or the
// next one is due. Each attempt leaves the race in the destructor of a local object, whether it
// returned, threw or was stopped. When the race is decided, the caller cancels the running attempts
// and waits up to loser_grace; attempts that are still running then share ownership of the race,
// which no longer refers to the caller, the policy and the budget.

#include "base/option_checks.hpp"

#include <weir/flow/hedge.hpp>

#include <algorithm>

namespace weir {

using detail::throw_bad_option;

void detail::check_hedge_options(const hedge_options& options) {
    const std::string owner = options.name.empty() ? "hedge" : "hedge " + std::string(options.name);
    constexpr clock::duration zero{};
    if (options.delay < zero) {
        throw_bad_option(owner, "delay", options.delay, "zero or more");
    }
    if (!(options.percentile >= 0 && options.percentile < 1)) {
        throw_bad_option(owner, "percentile", options.percentile,
                         "from 0 (a fixed delay) to less than 1, such as 0.95");
    }
    if (options.min_samples < 1) {
        throw_bad_option(owner, "min_samples", 0.0, "at least 1");
    }
    if (options.window <= zero) {
        throw_bad_option(owner, "window", options.window, "a time above zero");
    }
    if (options.min_delay < zero) {
        throw_bad_option(owner, "min_delay", options.min_delay, "zero or more");
    }
    if (options.max_delay < options.min_delay) {
        throw_bad_option(owner, "max_delay", options.max_delay, "at least min_delay");
    }
    if (options.max_hedges < 1 || options.max_hedges > 100) {
        throw_bad_option(owner, "max_hedges", options.max_hedges,
                         "from 1 to 100: the attempts beyond the first");
    }
    if (options.loser_grace < zero) {
        throw_bad_option(owner, "loser_grace", options.loser_grace, "zero or more");
    }
}

hedge_policy::hedge_policy(const hedge_options& options)
    : options_(options), name_(options.name), latencies_(options.window) {
    detail::check_hedge_options(options);
    options_.name = name_;
}

clock::duration hedge_policy::delay(clock::time_point now) noexcept {
    if (options_.percentile == 0 || latencies_.count(now) < options_.min_samples) {
        return options_.delay;
    }
    return std::clamp(latencies_.percentile(now, options_.percentile), options_.min_delay,
                      options_.max_delay);
}

task<> hedge_policy::drain() {
    while (!stragglers_.empty()) {
        const any_handle last = stragglers_.back();
        co_await last.wait();
        std::erase_if(stragglers_, [](const any_handle& each) { return each.done(); });
    }
}

hedge_stats hedge_policy::stats() const noexcept {
    hedge_stats now = stats_;
    now.stragglers = static_cast<std::uint64_t>(
        std::count_if(stragglers_.begin(), stragglers_.end(),
                      [](const any_handle& each) { return !each.done(); }));
    return now;
}

void hedge_policy::write_metrics(metric_writer& to) const {
    const hedge_stats now = stats();
    const auto count = [&](std::string_view metric, std::string_view help, std::uint64_t value) {
        to.counter(metric, help, {{"name", name_}}, static_cast<double>(value));
    };
    count("weir_hedge_calls_total", "Calls", now.calls);
    count("weir_hedge_hedges_total", "Attempts beyond the first", now.hedges);
    count("weir_hedge_wins_total", "Calls decided by an attempt beyond the first", now.hedge_wins);
    count("weir_hedge_failed_total", "Calls of which all attempts failed", now.failed);
    count("weir_hedge_budget_refused_total", "Hedges that the budget refused", now.budget_refused);
    to.gauge("weir_hedge_stragglers", "Losers that are still running", {{"name", name_}},
             static_cast<double>(now.stragglers));
}

namespace detail {

bool attempt_wait::ready() noexcept {
    return race_.has_event_;
}
bool attempt_wait::start() noexcept {
    race_.waiter_ = this;
    const clock::time_point until{clock::duration(deadline())};
    if (until != clock::time_point::max()) {
        static_cast<loop&>(waiter().home()).arm(*this, until);
    }
    return true;
}
void attempt_wait::let_go() noexcept {
    if (race_.waiter_ == this) {
        race_.waiter_ = nullptr;
        if (is_armed()) {
            static_cast<loop&>(waiter().home()).disarm(*this);
        }
    }
}
void attempt_wait::wake() noexcept {
    let_go();
    complete();
}
void attempt_wait::fire() noexcept {
    race_.waiter_ = nullptr;
    complete();
}

hedge_race::hedge_race(hedge_policy& policy, call_context& call)
    : policy_(&policy), hedges_left_(policy.options_.max_hedges) {
    ++policy.stats_.calls;
    retry_budget* budget = policy.options_.budget;
    if (budget != nullptr && budget != call.counted_by()) {
        budget_ = budget->begin(call.now());
        counts_ = true;
    }
}

std::size_t hedge_race::enter(call_context& own) {
    const std::size_t number = attempts_.size();
    for (std::size_t i = 0; i < number; ++i) {
        own.next_attempt();
    }
    if (counts_) {
        own.count_by(policy_->options_.budget);
    }
    own.time_passed();
    const clock::time_point now = own.now();
    attempts_.push_back(
        {.task = {}, .begun = now, .extra = std::move(granted_), .has_ended = false});
    ++running_;
    plan(now);
    return number;
}

void hedge_race::started(std::size_t number, any_handle attempt) noexcept {
    attempts_[number].task = std::move(attempt);
}

void hedge_race::plan(clock::time_point now) noexcept {
    next_start_ = hedges_left_ > 0 ? after(now, policy_->delay(now)) : clock::time_point::max();
}

bool hedge_race::may_replace() const noexcept {
    return has_failed_ && hedges_left_ > 0 && policy_ != nullptr &&
           policy_->options_.replace_failed;
}

bool hedge_race::takes_another() {
    has_event_ = false;
    if (is_over() || hedges_left_ == 0) {
        return false;
    }
    const clock::time_point time = now();
    if (time < next_start_ && !may_replace()) {
        return false;
    }
    has_failed_ = false;
    --hedges_left_;
    if (retry_budget* budget = policy_->options_.budget) {
        granted_ = budget->try_spend(time);
        if (!granted_) {
            ++policy_->stats_.budget_refused;
            report("budget_refused", time, static_cast<double>(attempts_.size()));
            plan(time);
            return false;
        }
    }
    ++policy_->stats_.hedges;
    report("hedge", time, static_cast<double>(attempts_.size()));
    return true;
}

bool hedge_race::wins(std::size_t number, const outcome_view& ended) {
    if (policy_ == nullptr || winner_ != none) {
        return false;
    }
    const hedge_options& options = policy_->options_;
    const bool is_success =
        options.accept_if && !ended.is_cancelled() ? options.accept_if(ended) : ended.has_value();
    if (!is_success) {
        has_failed_ = has_failed_ || !ended.is_cancelled();
        return false;
    }
    winner_ = number;
    if (number > 0) {
        ++policy_->stats_.hedge_wins;
    }
    if (counts_) {
        options.budget->succeeded();
    }
    if (options.percentile > 0) {
        const clock::time_point time = now();
        policy_->latencies_.record(time, time - attempts_[number].begun);
        if (number > 0 && !attempts_[0].has_ended) {
            // The first attempt would have taken at least this long.
            policy_->latencies_.record(time, time - attempts_[0].begun);
        }
    }
    return true;
}

void hedge_race::failed(bool by_cancellation) noexcept {
    if (by_cancellation) {
        return;
    }
    ++policy_->stats_.failed;
    if (counts_) {
        policy_->options_.budget->failed();
    }
}

void hedge_race::leave(std::size_t number) noexcept {
    attempts_[number].has_ended = true;
    attempts_[number].extra = {};
    --running_;
    has_event_ = true;
    if (waiter_ != nullptr) {
        waiter_->wake();
    }
}

task<> hedge_race::end_losers() {
    for (const attempt& each : attempts_) {
        if (!each.has_ended) {
            each.task.cancel("hedge: another attempt has won");
        }
    }
    const clock::duration grace = policy_->options_.loser_grace;
    const clock::time_point until = after(now(), grace);
    bool has_time = grace > clock::duration::zero();
    while (running_ > 0 && has_time) {
        has_event_ = false;
        co_await attempt_wait(*this, until);
        has_time = now() < until;
    }
    std::vector<any_handle>& stragglers = policy_->stragglers_;
    std::erase_if(stragglers, [](const any_handle& each) { return each.done(); });
    for (const attempt& each : attempts_) {
        if (!each.has_ended) {
            stragglers.push_back(each.task);
            report("straggler", now(), static_cast<double>(stragglers.size()));
        }
    }
}

void hedge_race::detach() noexcept {
    policy_ = nullptr;
    budget_ = {};
    granted_ = {};
    for (attempt& each : attempts_) {
        each.extra = {};
    }
}

void hedge_race::report(std::string_view what, clock::time_point at, double value) const noexcept {
    if (observer* watching = policy_->options_.observer) {
        watching->on_event(
            {.kind = "hedge", .name = policy_->name_, .what = what, .at = at, .value = value});
    }
}

}  // namespace detail
}  // namespace weir
