// SPDX-License-Identifier: MIT
// hedge: when a call takes unusually long, makes it once more, and takes whichever succeeds first.
//
//     weir::hedge_policy twice({.delay = 50ms});
//     page got = co_await twice.run([url] { return fetch(url); });
//     page got = co_await weir::hedge({.delay = 50ms, .percentile = 0.95}, fetch_it);
//
// Only for what may be done twice. The first success wins. The others are then cancelled, and their
// clean-up is awaited, so that what they refer to is still there; but one that does not heed its
// cancellation cannot hold up the winner: after `loser_grace` it is left to end by itself, as a
// task of the loop's root group, which awaits it at the end of run; drain() waits for such
// stragglers. The callable is kept until the last attempt has ended; what it refers to beyond that,
// and the other policies of a pipeline, must outlive the stragglers: drain() first. If all fail,
// the first failure is the outcome. A failure does not cause a hedge (that is what retry is for),
// unless replace_failed says so. A stop of the caller stops and awaits all attempts in the same
// way.
//
// Attempts are tasks of their own: each has its own call_context, and the winner's is not cancelled
// with the losers. Deadlines around the caller hold for them too.
#pragma once

#include <weir/finally.hpp>
#include <weir/flow/decision/latency_histogram.hpp>
#include <weir/flow/detail/hedge_race.hpp>
#include <weir/flow/detail/policy_call.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/timeout.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir {

class hedge_policy {
public:
    static constexpr policy_kind kind = policy_kind::hedge;
    static constexpr bool outlives_call = true;

    explicit hedge_policy(const hedge_options& options);  // throws invalid_argument
    hedge_policy(const hedge_policy&) = delete;
    hedge_policy& operator=(const hedge_policy&) = delete;

    // The callable is copied, or moved from.
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

    // Waits until all losers have ended that did not do so in time.
    task<> drain();
    // How long a call may take before it is hedged: fixed, or the percentile, once enough is known.
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

// One attempt, as a task of its own. It needs nothing of the policy.
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

// Waits for a success, and starts further attempts when it takes too long.
template <class Next, class T = typename Next::value_type>
task<> hedge_until_decided(const std::shared_ptr<typed_hedge_race<T>>& race, Next& next,
                           const call_context& call, clock::time_point deadline) {
    while (!race->is_over()) {
        co_await race->news();
        if (race->wants_another()) {
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
    const detail::hedge_seat seat(*race);
    const clock::time_point deadline = current_deadline();
    detail::start_attempt(race, next, call, deadline);
    if (!race->is_over()) {
        auto clean_up = [&] { return race->end_losers(); };
        co_await finally(detail::hedge_until_decided(race, next, call, deadline), clean_up);
        call.time_passed();
    }
    co_return race->finish();
}

// co_await hedge(options, fn): in one expression. Percentiles need a policy that sees many calls.
template <class Fn>
auto hedge(const hedge_options& options, Fn&& fn) {
    WEIR_CHECK_CALLABLE(Fn);
    detail::check_hedge_options(options);
    return detail::hedge_once<std::decay_t<Fn>>(options, std::forward<Fn>(fn));
}

}  // namespace weir
