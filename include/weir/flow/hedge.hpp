// SPDX-License-Identifier: MIT
// hedge: if a call takes unusually long, makes it a second time and takes the first success.
//
//     weir::hedge_policy twice({.delay = 50ms});
//     page got = co_await twice.run([url] { return fetch(url); });
//     page got = co_await weir::hedge({.delay = 50ms, .percentile = 0.95}, fetch_it);
//
// Only for idempotent calls. The first success wins. The other attempts are cancelled and their
// clean-up is awaited, so that everything they refer to still exists. A loser that ignores its
// cancellation does not hold up the winner: after `loser_grace` it continues as a task of the
// loop's root group, which awaits it at the end of run; drain() waits for such stragglers. The
// callable lives until the last attempt has ended; objects that it refers to, and the other
// policies of a pipeline, must outlive the stragglers: call drain() first.
//
// If all attempts fail, the first failure is the outcome. A failure does not start a hedge (use
// retry for that), unless replace_failed is set. A stop of the caller stops and awaits all attempts
// in the same way.
//
// Each attempt is a task with its own call_context; the winner is not cancelled with the losers.
// Deadlines around the caller apply to all attempts.
#pragma once

#include <weir/base/timer_wheel.hpp>
#include <weir/finally.hpp>
#include <weir/flow/decision/latency_histogram.hpp>
#include <weir/flow/gated_call.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/outcome_view.hpp>
#include <weir/flow/retry_budget.hpp>
#include <weir/flow/telemetry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/spawn.hpp>
#include <weir/timeout.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class hedge_policy;

struct hedge_options {
    using policy_type = hedge_policy;

    std::string_view name{};
    // A call that takes longer is made a second time.
    clock::duration delay = std::chrono::milliseconds(100);
    // If not 0: the delay is this percentile of recent durations (0.95: one call in twenty is
    // hedged). `delay` applies until `min_samples` calls have been seen.
    double percentile = 0;
    unsigned min_samples = 50;
    clock::duration window = std::chrono::minutes(1);  // of recent durations
    clock::duration min_delay{};                       // bounds of the percentile
    clock::duration max_delay = clock::duration::max();

    int max_hedges = 1;           // attempts beyond the first, each after another delay
    bool replace_failed = false;  // a failed attempt starts a hedge at once
    // How long the winner waits for the clean-up of the losers. Zero: it does not wait.
    clock::duration loser_grace = std::chrono::seconds(1);
    // Which outcomes are successes; by default all values.
    hook<bool(const outcome_view&)> accept_if{};
    retry_budget* budget = nullptr;  // must outlive the policy
    weir::observer* observer = nullptr;
};

struct hedge_stats {
    std::uint64_t calls = 0;
    std::uint64_t hedges = 0;      // attempts beyond the first
    std::uint64_t hedge_wins = 0;  // calls that such an attempt won
    std::uint64_t failed = 0;      // calls of which all attempts failed
    std::uint64_t budget_refused = 0;
    std::uint64_t stragglers = 0;  // losers that are still running
};

namespace detail {
class hedge_race;
void check_hedge_options(const hedge_options& options);  // throws invalid_argument
}  // namespace detail

class hedge_policy {
public:
    static constexpr policy_kind kind = policy_kind::hedge;
    static constexpr bool outlives_call = true;

    explicit hedge_policy(const hedge_options& options);  // throws invalid_argument
    hedge_policy(const hedge_policy&) = delete;
    hedge_policy& operator=(const hedge_policy&) = delete;

    // The callable is copied or moved.
    template <class Fn>
    auto run(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::value, std::decay_t<Fn>>(this,
                                                                              std::forward<Fn>(fn));
    }
    template <class Fn>
    auto settle(Fn&& fn) {
        WEIR_CHECK_CALLABLE(Fn);
        return detail::call_under<detail::call_view::outcome, std::decay_t<Fn>>(
            this, std::forward<Fn>(fn));
    }
    template <class Next>
    auto around(call_context& call, Next& next) -> task<outcome<typename Next::value_type>>;

    // Waits until all stragglers have ended.
    task<> drain();
    // How long a call may take before it is hedged: `delay`, or the percentile once `min_samples`
    // calls have been seen.
    clock::duration delay(clock::time_point now) noexcept;

    const std::string& name() const noexcept { return name_; }
    hedge_stats stats() const noexcept;
    void write_metrics(metric_writer& to) const;

private:
    friend class detail::hedge_race;

    hedge_options options_;
    std::string name_;
    hedge_stats stats_;
    decision::recent_latencies latencies_;
    std::vector<any_handle> stragglers_;
};

namespace detail {

// Waits until an attempt ends, or until a point in time.
class WEIR_MUST_AWAIT attempt_wait final : public operation, private timer {
public:
    attempt_wait(hedge_race& race, clock::time_point until) noexcept
        : timer(until.time_since_epoch().count()), race_(race) {}
    attempt_wait(attempt_wait&&) noexcept = default;
    ~attempt_wait() { let_go(); }

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override {
        let_go();
        return true;
    }
    const char* name() const noexcept override { return "hedge"; }
    void resume() const noexcept {}
    void wake() noexcept;

private:
    void fire() noexcept override;
    void let_go() noexcept;

    hedge_race& race_;
};

// The attempts of one hedged call: which are running, which has won, and when the next one starts.
// Shared by the caller and the attempts. Attempts may outlive the caller: then policy_ is null.
class hedge_race {
public:
    hedge_race(hedge_policy& policy, call_context& call);
    hedge_race(const hedge_race&) = delete;
    hedge_race& operator=(const hedge_race&) = delete;

    // A running attempt. Its destructor leaves the race, also when the attempt is stopped.
    class entrant {
    public:
        entrant(hedge_race& race, std::size_t number) noexcept : race_(race), number_(number) {}
        entrant(const entrant&) = delete;
        entrant& operator=(const entrant&) = delete;
        ~entrant() { race_.leave(number_); }
        std::size_t number() const noexcept { return number_; }

    private:
        hedge_race& race_;
        std::size_t number_;
    };

    std::size_t enter(call_context& own);  // returns the new attempt's number
    void started(std::size_t number, any_handle attempt) noexcept;
    // Decided, or no attempt is left that could decide it.
    bool is_over() const noexcept { return winner_ != none || (running_ == 0 && !may_replace()); }
    attempt_wait next_event() noexcept { return attempt_wait(*this, next_start_); }
    // After an event: whether another attempt is due and allowed.
    bool takes_another();
    // Cancels the running attempts and waits for them, up to loser_grace.
    task<> end_losers();
    // The caller has left; the policy and the budget may be destroyed.
    void detach() noexcept;

protected:
    static constexpr std::size_t none = SIZE_MAX;

    // An attempt has ended. True: it is the first success.
    bool wins(std::size_t number, const outcome_view& ended);
    void failed(bool by_cancellation) noexcept;

private:
    friend class attempt_wait;
    struct attempt {
        any_handle task;
        clock::time_point begun;
        retry_budget::extra extra;
        bool has_ended = false;
    };

    bool may_replace() const noexcept;
    void leave(std::size_t number) noexcept;
    void plan(clock::time_point now) noexcept;
    void report(std::string_view what, clock::time_point at, double value) const noexcept;

    hedge_policy* policy_;
    std::vector<attempt> attempts_;
    retry_budget::call budget_;
    retry_budget::extra granted_;  // for the next attempt
    attempt_wait* waiter_ = nullptr;
    clock::time_point next_start_ = clock::time_point::max();
    std::size_t running_ = 0;
    std::size_t winner_ = none;
    int hedges_left_;
    bool has_event_ = false;
    bool has_failed_ = false;
    bool counts_ = false;  // this policy counts the call in the budget, not an outer one
};

// Detaches the race when the caller leaves.
class race_guard {
public:
    explicit race_guard(hedge_race& race) noexcept : race_(race) {}
    race_guard(const race_guard&) = delete;
    race_guard& operator=(const race_guard&) = delete;
    ~race_guard() { race_.detach(); }

private:
    hedge_race& race_;
};

template <class T>
class typed_hedge_race final : public hedge_race {
public:
    using hedge_race::hedge_race;

    void take(const entrant& from, outcome<T>&& ended) {
        try {
            if (wins(from.number(), outcome_view(ended))) {
                success_.emplace(std::move(ended));
                return;
            }
        } catch (...) {  // thrown by accept_if: the attempt has failed with it
            ended = outcome<T>::from_error(std::current_exception());
        }
        if (!failure_ || failure_->is_cancelled()) {
            failure_.emplace(std::move(ended));
        }
    }
    // The outcome of the call.
    outcome<T> finish() {
        if (success_) {
            return std::move(*success_);
        }
        failed(!failure_ || failure_->is_cancelled());
        if (failure_) {
            return std::move(*failure_);
        }
        return outcome<T>::from_cancellation("hedge: all attempts were cancelled");
    }

private:
    std::optional<outcome<T>> success_;
    std::optional<outcome<T>> failure_;
};

// The task of one attempt. It does not use the policy.
template <class Next, class T = typename Next::value_type>
task<> hedge_attempt(std::shared_ptr<typed_hedge_race<T>> race, Next next, call_context call,
                     std::size_t number, clock::time_point deadline) {
    hedge_race::entrant self(*race, number);
    timeout_stats ignored;
    try {
        outcome<T> ended = co_await settle_until(next(call), call, deadline, ignored);
        race->take(self, std::move(ended));
    } catch (...) {
        race->take(self, outcome_of_current_exception<T>());
    }
}

template <class Next, class T = typename Next::value_type>
void start_attempt(const std::shared_ptr<typed_hedge_race<T>>& race, Next& next,
                   const call_context& call, clock::time_point deadline) {
    call_context own = call;
    const std::size_t number = race->enter(own);
    race->started(number, spawn(hedge_attempt<Next>(race, next, own, number, deadline),
                                {.name = "hedge", .start = start::eager}));
}

// Waits for a success; starts further attempts when they are due.
template <class Next, class T = typename Next::value_type>
task<> hedge_until_decided(const std::shared_ptr<typed_hedge_race<T>>& race, Next& next,
                           const call_context& call, clock::time_point deadline) {
    while (!race->is_over()) {
        co_await race->next_event();
        if (race->takes_another()) {
            start_attempt(race, next, call, deadline);
        }
    }
}

template <class Fn>
auto hedge_once(hedge_options options, Fn fn) -> task<call_value_t<Fn>> {
    hedge_policy policy(options);
    co_return co_await policy.run(std::move(fn));
}

}  // namespace detail

template <class Next>
auto hedge_policy::around(call_context& call, Next& next)
    -> task<outcome<typename Next::value_type>> {
    using value = typename Next::value_type;
    auto race = std::make_shared<detail::typed_hedge_race<value>>(*this, call);
    const detail::race_guard guard(*race);
    const clock::time_point deadline = current_deadline();
    detail::start_attempt(race, next, call, deadline);
    if (!race->is_over()) {
        auto clean_up = [&] { return race->end_losers(); };
        co_await finally(detail::hedge_until_decided(race, next, call, deadline), clean_up);
        call.time_passed();
    }
    co_return race->finish();
}

// co_await hedge(options, fn): a policy for one call. Percentiles need a policy that sees many
// calls.
template <class Fn>
auto hedge(const hedge_options& options, Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    detail::check_hedge_options(options);
    return detail::hedge_once<std::decay_t<Fn>>(options, std::forward<Fn>(fn));
}

}  // namespace weir
