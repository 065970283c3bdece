// SPDX-License-Identifier: MIT
// Hedging: when further attempts start, which one wins, and how the losers end.

#include "support.hpp"

#include <weir/flow/hedge.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/weir.hpp>

namespace {

using namespace retry_tests;

// Attempt i takes takes[i], and fails if fails[i].
struct script {
    std::vector<weir::clock::duration> takes;
    std::vector<bool> fails = {};
    int begun = 0;
    int running = 0;
    int finished = 0;

    task<int> attempt() {
        const auto number = static_cast<std::size_t>(begun++);
        struct present {
            int& count;
            explicit present(int& counter) : count(counter) { ++count; }
            ~present() { --count; }
        };
        const present here(running);
        co_await weir::sleep(takes.at(number));
        ++finished;
        if (number < fails.size() && fails[number]) {
            throw std::runtime_error("attempt " + std::to_string(number + 1));
        }
        co_return static_cast<int>(number) + 1;
    }
    auto work() {
        return [this] { return attempt(); };
    }
};

WEIR_TEST(Hedge, AFastCallIsNotHedged) {
    script plan{.takes = {50ms}};
    const auto begin = weir::now();
    const int got = co_await weir::hedge({.delay = 100ms}, plan.work());
    EXPECT_EQ(got, 1);
    EXPECT_EQ(plan.begun, 1);
    EXPECT_EQ(weir::now() - begin, 50ms);
}

WEIR_TEST(Hedge, AReadyCallNeedsNoTurnOfTheLoop) {
    weir::hedge_policy policy({});
    bool others_ran = false;
    const auto other = weir::spawn([&]() -> task<> {
        others_ran = true;
        co_return;
    });
    const int got = co_await policy.run([] { return 5; });
    EXPECT_EQ(got, 5);
    EXPECT_FALSE(others_ran);
    co_await other;
}

WEIR_TEST(Hedge, TheFirstSuccessWinsAndTheLosersAreStopped) {
    script plan{.takes = {10s, 20ms}};
    weir::hedge_policy policy({.delay = 100ms});
    const auto begin = weir::now();
    const int got = co_await policy.run(plan.work());
    EXPECT_EQ(got, 2);
    EXPECT_EQ(weir::now() - begin, 120ms);
    EXPECT_EQ(plan.running, 0);
    EXPECT_EQ(plan.finished, 1);
    EXPECT_EQ(policy.stats().hedges, 1u);
    EXPECT_EQ(policy.stats().hedge_wins, 1u);
    EXPECT_EQ(policy.stats().stragglers, 0u);
}

WEIR_TEST(Hedge, TheFirstAttemptMayWinAllTheSame) {
    script plan{.takes = {150ms, 1s}};
    weir::hedge_policy policy({.delay = 100ms});
    const int got = co_await policy.run(plan.work());
    EXPECT_EQ(got, 1);
    EXPECT_EQ(plan.begun, 2);
    EXPECT_EQ(plan.running, 0);
    EXPECT_EQ(policy.stats().hedge_wins, 0u);
}

WEIR_TEST(Hedge, SoManyHedgesAndNoMore) {
    script plan{.takes = {10s, 10s, 10s, 10s}};
    weir::hedge_policy policy({.delay = 1s, .max_hedges = 3});
    const auto begin = weir::now();
    const int got = co_await policy.run(plan.work());
    EXPECT_EQ(got, 1);
    EXPECT_EQ(plan.begun, 4);
    EXPECT_EQ(weir::now() - begin, 10s);
}

WEIR_TEST(Hedge, AFailureIsNoWin) {
    script plan{.takes = {150ms, 1s}, .fails = {true, false}};
    weir::hedge_policy policy({.delay = 100ms});
    const int got = co_await policy.run(plan.work());
    EXPECT_EQ(got, 2);
}

WEIR_TEST(Hedge, IfAllFailTheFirstFailureIsTheOutcome) {
    script plan{.takes = {300ms, 100ms}, .fails = {true, true}};
    weir::hedge_policy policy({.delay = 100ms});
    const outcome<int> ended = co_await policy.settle(plan.work());
    WEIR_ASSERT_TRUE(ended.has_error());
    EXPECT_EQ(weir::describe(ended.error()), "attempt 2");  // at 200 ms; the other at 300 ms
    EXPECT_EQ(policy.stats().failed, 1u);
    EXPECT_EQ(plan.running, 0);
}

// Retrying is for retry: a call that fails before it is slow has failed.
WEIR_TEST(Hedge, AnEarlyFailureIsNotHedgedUnlessSoWanted) {
    script plan{.takes = {50ms, 10ms}, .fails = {true, false}};
    WEIR_EXPECT_THROW(weir::hedge({.delay = 100ms}, plan.work()), std::runtime_error);
    EXPECT_EQ(plan.begun, 1);
    script again{.takes = {50ms, 10ms}, .fails = {true, false}};
    const auto begin = weir::now();
    const int got = co_await weir::hedge({.delay = 100ms, .replace_failed = true}, again.work());
    EXPECT_EQ(got, 2);
    EXPECT_EQ(weir::now() - begin, 60ms);
}

WEIR_TEST(Hedge, UnacceptableValuesDoNotWin) {
    script plan{.takes = {150ms, 100ms}};
    weir::hedge_policy policy({.delay = 100ms, .accept_if = [](const outcome_view& ended) {
                                   return ended.value<int>() != nullptr && *ended.value<int>() == 2;
                               }});
    const int got = co_await policy.run(plan.work());
    EXPECT_EQ(got, 2);
}

WEIR_TEST(Hedge, APredicateThatThrowsFailsTheAttempt) {
    weir::hedge_policy policy(
        {.accept_if = [](const outcome_view&) -> bool { throw fatal_error(); }});
    WEIR_EXPECT_THROW(policy.run([] { return 1; }), fatal_error);
    EXPECT_EQ(policy.stats().failed, 1u);
}

WEIR_TEST(Hedge, AStopOfTheCallerStopsAndAwaitsAllAttempts) {
    script plan{.takes = {10s, 10s}};
    weir::hedge_policy policy({.delay = 100ms});
    auto caller = [&]() -> task<> {
        const int got = co_await policy.run(plan.work());
        EXPECT_EQ(got, 0) << "it was cancelled";
    };
    const auto running = weir::spawn(caller);
    co_await weir::testing::advance(500ms);
    EXPECT_EQ(plan.running, 2);
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(plan.running, 0);
    EXPECT_EQ(policy.stats().failed, 0u);
}

WEIR_TEST(Hedge, DeadlinesHoldForTheAttempts) {
    std::vector<weir::clock::time_point> seen;
    weir::hedge_policy policy({.delay = 1s});
    auto attempt = [&seen]() -> task<> {
        seen.push_back(weir::current_deadline());
        co_await weir::sleep(1h);
    };
    const auto begin = weir::now();
    WEIR_EXPECT_TIMEOUT(weir::timeout(5s, policy.run(attempt)));
    EXPECT_EQ(weir::now() - begin, 5s);
    EXPECT_EQ(seen, (std::vector{begin + 5s, begin + 5s}));
}

WEIR_TEST(Hedge, AnotherTasksCancellationIsPassedOn) {
    weir::hedge_policy policy({.delay = 1s, .replace_failed = true});
    const auto victim = weir::spawn(weir::sleep(1h, 1));
    victim.cancel("gone");
    int calls = 0;
    const outcome<int> ended = co_await policy.settle([&]() -> task<int> {
        ++calls;
        co_return co_await victim;
    });
    EXPECT_TRUE(ended.is_cancelled());
    EXPECT_EQ(ended.reason(), "gone");
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(policy.stats().failed, 0u);
}

WEIR_TEST(Hedge, TheDelayFollowsThePercentile) {
    weir::hedge_policy policy({.delay = 10s, .percentile = 0.9, .min_samples = 20});
    int calls = 0;
    auto mostly_fast = [&calls]() -> task<> {
        const bool is_slow = ++calls % 20 == 0;
        co_await weir::sleep(is_slow ? 5s : 100ms);
    };
    for (int i = 0; i < 19; ++i) {
        co_await policy.run(mostly_fast);
    }
    EXPECT_EQ(policy.delay(weir::now()), 10s);
    co_await policy.run(mostly_fast);
    EXPECT_GE(policy.delay(weir::now()), 100ms);
    EXPECT_LE(policy.delay(weir::now()), 113ms);
    calls = 19;
    const auto begin = weir::now();
    co_await policy.run(mostly_fast);  // the slow one is hedged
    EXPECT_LE(weir::now() - begin, 220ms);
    co_await weir::sleep(1h);
    EXPECT_EQ(policy.delay(weir::now()), 10s);  // long ago
}

WEIR_TEST(Hedge, SharesItsBudgetWithRetries) {
    weir::retry_budget budget(weir::ratio_budget{.ratio = 0, .reserve_per_second = 0.2});
    weir::hedge_policy hedged({.delay = 100ms, .budget = &budget});
    weir::retry_policy again({.max_attempts = 10, .backoff = doubling, .budget = &budget});
    script plan{.takes = std::vector<weir::clock::duration>(9, 1s)};
    co_await hedged.run(plan.work());
    EXPECT_EQ(plan.begun, 2);
    flaky work(100);
    const outcome<int> ended = co_await again.settle(work);
    EXPECT_TRUE(ended.has_error());
    EXPECT_EQ(work.calls, 2);
    co_await hedged.run(plan.work());
    EXPECT_EQ(plan.begun, 3);  // the budget is spent: not hedged, and none the worse
    EXPECT_EQ(hedged.stats().budget_refused, 1u);
    EXPECT_EQ(again.stats().budget_exhausted, 1u);
    EXPECT_EQ(budget.stats().spent, 2u);
    EXPECT_EQ(budget.stats().extra_in_flight, 0u);
    EXPECT_EQ(budget.stats().calls_in_flight, 0u);
}

// One call is one call, however many policies around it share the budget.
WEIR_TEST(Hedge, InsideARetryTheCallIsCountedOnce) {
    weir::retry_budget budget;
    weir::pipeline both("both", weir::retry_options{.backoff = doubling, .budget = &budget},
                        weir::hedge_options{.delay = 100ms, .budget = &budget});
    script plan{.takes = {200ms, 1s, 200ms, 50ms}, .fails = {true, true, false, false}};
    const int got = co_await both.run(plan.work());
    EXPECT_EQ(got, 4);
    EXPECT_EQ(plan.begun, 4);
    EXPECT_EQ(budget.stats().calls, 1u);
    EXPECT_EQ(budget.stats().spent, 3u);  // a retry and two hedges
    EXPECT_EQ(budget.stats().calls_in_flight, 0u);
}

WEIR_TEST(Hedge, AttemptsKnowTheirNumber) {
    std::vector<int> numbers;
    auto attempt = [&numbers](int number) -> task<int> {
        numbers.push_back(number);
        co_await weir::sleep(number == 3 ? 1s : 1h);
        co_return number;
    };
    const int got = co_await weir::hedge({.delay = 1s, .max_hedges = 2}, attempt);
    EXPECT_EQ(got, 3);
    EXPECT_EQ(numbers, (std::vector{1, 2, 3}));
}

WEIR_TEST(Hedge, BadOptionsAreNamed) {
    EXPECT_THROW(weir::hedge_policy({.delay = -1s}), weir::invalid_argument);
    EXPECT_NO_THROW(weir::hedge_policy({.delay = 0s}));
    EXPECT_THROW(weir::hedge_policy({.percentile = 1}), weir::invalid_argument);
    EXPECT_THROW(weir::hedge_policy({.percentile = std::nan("")}), weir::invalid_argument);
    EXPECT_THROW(weir::hedge_policy({.min_samples = 0}), weir::invalid_argument);
    EXPECT_THROW(weir::hedge_policy({.window = 0s}), weir::invalid_argument);
    EXPECT_THROW(weir::hedge_policy({.min_delay = 2s, .max_delay = 1s}), weir::invalid_argument);
    EXPECT_THROW(weir::hedge_policy({.max_hedges = 0}), weir::invalid_argument);
    EXPECT_THROW(weir::hedge_policy({.loser_grace = -1s}), weir::invalid_argument);
    EXPECT_THROW(
        { auto made = weir::hedge({.max_hedges = -1}, [] { return 1; }); }, weir::invalid_argument);
    co_return;
}

// A first attempt that a hedge has beaten took at least as long as the call. If only winners were
// recorded, the percentile would fall to the time of the hedges, and ever more calls be hedged.
WEIR_TEST(Hedge, AFirstAttemptThatWasBeatenIsRecorded) {
    weir::hedge_policy policy({.delay = 1s, .percentile = 0.9, .min_samples = 20});
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(policy.delay(weir::now()), 1s);
        script plan{.takes = {1h, 10ms}};
        const int got = co_await policy.run(plan.work());
        EXPECT_EQ(got, 2);
    }
    // Two samples for each call: 10 ms of the hedge, and 1010 ms of the first, at least.
    EXPECT_GE(policy.delay(weir::now()), 1010ms);
    EXPECT_LE(policy.delay(weir::now()), 1140ms);
}

// A first attempt that had failed before the hedge won has ended, and is not a slow one.
WEIR_TEST(Hedge, AFirstAttemptThatHasFailedIsNotRecorded) {
    weir::hedge_policy policy({.delay = 1s, .percentile = 0.9, .min_samples = 10});
    for (int i = 0; i < 10; ++i) {
        script plan{.takes = {1100ms, 200ms}, .fails = {true, false}};
        const int got = co_await policy.run(plan.work());
        EXPECT_EQ(got, 2);
    }
    EXPECT_GE(policy.delay(weir::now()), 200ms);
    EXPECT_LE(policy.delay(weir::now()), 225ms);
}

}  // namespace
