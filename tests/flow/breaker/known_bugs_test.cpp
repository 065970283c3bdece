// SPDX-License-Identifier: MIT
// Bugs that circuit breakers of other libraries had, each with the number of its report.

#include "support.hpp"

namespace flow_breaker {
namespace {

// ---- the half-open state admits all calls while the first trial runs

WEIR_TEST(KnownBugs, polly_216_only_the_permitted_trials_pass) {
    circuit_breaker breaker({.open_for = 1s});
    co_await make_half_open(breaker);
    const auto trial = start_call(breaker, [] { return succeed_after(5s); });
    co_await settle_all();
    for (int i = 0; i < 10; ++i) {
        const outcome<int> other = co_await breaker.settle(succeed);
        WEIR_ASSERT_TRUE(other.is_refused());
        EXPECT_EQ(other.refusal().reason, refusal_reason::circuit_on_trial);
    }
    co_await trial;
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

WEIR_TEST(KnownBugs, polly_254_callers_that_arrive_together_do_not_all_become_trials) {
    circuit_breaker breaker({.open_for = 1s});
    breaker.trip();
    int called = 0;
    auto call = [&]() -> task<int> {
        ++called;
        co_await weir::sleep(1s);
        throw unavailable();
    };
    std::vector<handle<outcome<int>>> callers;
    auto caller = [&]() -> task<outcome<int>> {
        co_await weir::sleep(1s);  // all wake as the open time ends
        co_return co_await breaker.settle(call);
    };
    for (int i = 0; i < 20; ++i) {
        callers.push_back(weir::spawn(caller));
    }
    int refused = 0;
    for (auto& each : callers) {
        const outcome<int>& ended = co_await each;
        refused += ended.is_refused() ? 1 : 0;
    }
    EXPECT_EQ(called, 1);
    EXPECT_EQ(refused, 19);
    EXPECT_EQ(breaker.state(), circuit_state::open);
}

WEIR_TEST(KnownBugs, resilience4j_1432_never_more_trials_under_way_than_permitted) {
    circuit_breaker breaker({.open_for = 1s, .trial_calls = 3});
    co_await make_half_open(breaker);
    int running = 0;
    int called = 0;
    auto call = [&]() -> task<> {
        ++running;
        ++called;
        EXPECT_LE(running, 3);
        co_await weir::sleep(1s);
        --running;
    };
    auto caller = [&](weir::clock::duration when) -> task<> {
        co_await weir::sleep(when);
        const outcome<> ended = co_await breaker.settle(call);
        EXPECT_TRUE(ended.has_value() || ended.is_refused());
    };
    std::vector<handle<>> callers;
    for (int i = 0; i < 12; ++i) {
        callers.push_back(weir::spawn(caller(i * 80ms)));
    }
    for (auto& each : callers) {
        co_await each;
    }
    EXPECT_EQ(called, 3);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

// ---- late results

WEIR_TEST(KnownBugs, polly_217_results_of_the_closed_era_do_not_decide_the_trial) {
    circuit_breaker breaker({.consecutive_failures = 2, .open_for = 1s});
    // Both begin while it is closed, and end while it is half-open.
    const auto good = start_call(breaker, [] { return succeed_after(1500ms); });
    const auto bad = start_call(breaker, [] { return fail_after(1600ms); });
    co_await settle_all();
    co_await fail_through(breaker, 2);
    EXPECT_EQ(breaker.state(), circuit_state::open);

    co_await advance(1500ms);
    EXPECT_TRUE(good.done());
    EXPECT_EQ(breaker.state(), circuit_state::half_open);  // the success does not close it
    co_await advance(100ms);
    EXPECT_TRUE(bad.done());
    EXPECT_EQ(breaker.state(), circuit_state::half_open);  // the failure does not open it
    EXPECT_EQ(breaker.stats().late, 2u);
    co_await succeed_through(breaker);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

// ---- the trial's slot is never returned

WEIR_TEST(KnownBugs, resilience4j_544_an_ignored_error_returns_the_trial_slot) {
    circuit_breaker breaker({.open_for = 1s, .ignores = [](const weir::outcome_view& ended) {
                                 return ended.error<std::invalid_argument>() != nullptr;
                             }});
    co_await make_half_open(breaker);
    for (int i = 0; i < 5; ++i) {
        const outcome<int> ended =
            co_await breaker.settle([]() -> int { throw std::invalid_argument("mine"); });
        EXPECT_TRUE(ended.has_error()) << i;
        EXPECT_EQ(breaker.state(), circuit_state::half_open);
    }
    co_await succeed_through(breaker);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

WEIR_TEST(KnownBugs, resilience4j_935_a_hung_trial_does_not_hold_it_for_ever) {
    circuit_breaker breaker({.open_for = 1s, .max_trial_time = 10s});
    co_await make_half_open(breaker);
    const auto hung = start_call(breaker, [] { return succeed_after(1h); });
    co_await advance(9999ms);
    EXPECT_EQ(breaker.state(), circuit_state::half_open);
    co_await advance(1ms);
    EXPECT_EQ(breaker.state(), circuit_state::open);
    co_await advance(1s);
    co_await succeed_through(breaker);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    hung.cancel();
    co_await hung.wait();
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

WEIR_TEST(KnownBugs, resilience4j_858_a_mere_peek_takes_no_trial) {
    circuit_breaker breaker({.open_for = 1s});
    co_await make_half_open(breaker);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(breaker.state(), circuit_state::half_open);
        EXPECT_EQ(breaker.open_time_left(), 0s);
        EXPECT_EQ(breaker.stats().state, circuit_state::half_open);
    }
    {
        auto unused = breaker.try_acquire();
    }  // let in, and the call never made
    co_await succeed_through(breaker);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

WEIR_TEST(KnownBugs, polly_311_an_error_that_is_no_failure_ends_the_trial) {
    circuit_breaker breaker(
        {.open_for = 1s, .counts_as_failure = [](const weir::outcome_view& ended) {
             return ended.error<unavailable>() != nullptr;
         }});
    co_await make_half_open(breaker);
    const outcome<int> ended =
        co_await breaker.settle([]() -> int { throw std::invalid_argument("not its fault"); });
    EXPECT_TRUE(ended.has_error());
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

WEIR_TEST(KnownBugs, a_cancelled_trial_returns_its_slot) {
    circuit_breaker breaker({.open_for = 1s});
    co_await make_half_open(breaker);
    const auto trial = start_call(breaker, [] { return succeed_after(1h); });
    co_await settle_all();
    const bool refused = co_await is_refused(breaker);
    EXPECT_TRUE(refused);
    trial.cancel();
    co_await trial.wait();
    EXPECT_EQ(breaker.state(), circuit_state::half_open);
    co_await succeed_through(breaker);
    EXPECT_EQ(breaker.state(), circuit_state::closed);
}

// ---- endings that are not failures

WEIR_TEST(KnownBugs, brpc_3532_the_callers_cancellation_does_not_trip_it) {
    circuit_breaker breaker({.consecutive_failures = 1, .failure_rate = 0.1, .minimum_calls = 1});
    for (int i = 0; i < 20; ++i) {
        const auto caller = start_call(breaker, [] { return succeed_after(1h); });
        co_await settle_all();
        caller.cancel("the user went away");
        co_await caller.wait();
    }
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    EXPECT_EQ(breaker.stats().stopped, 20u);
    EXPECT_EQ(breaker.stats().in_flight(), 0u);
}

WEIR_TEST(KnownBugs, cockroach_35433_another_tasks_cancellation_is_not_counted) {
    circuit_breaker breaker({.consecutive_failures = 1});
    const auto shared = weir::spawn(succeed_after(1h));
    const auto caller = start_call(breaker, [&] { return shared; });
    co_await settle_all();
    shared.cancel();
    const outcome<int>& ended = co_await caller;
    EXPECT_TRUE(ended.is_cancelled());
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    EXPECT_EQ(breaker.stats().ignored, 1u);
}

WEIR_TEST(KnownBugs, rejections_by_a_limiter_inside_are_no_failures) {
    circuit_breaker breaker({.consecutive_failures = 1});
    const weir::refusal busy{.reason = refusal_reason::rate_limited, .retry_after = 1s};
    for (int i = 0; i < 5; ++i) {
        const outcome<int> ended =
            co_await breaker.settle([&]() -> int { throw weir::refused(busy, "limiter"); });
        EXPECT_TRUE(ended.is_refused());
        EXPECT_EQ(ended.refusal(), busy);
    }
    EXPECT_EQ(breaker.state(), circuit_state::closed);
    EXPECT_EQ(breaker.stats().refused, 0u);  // not by the breaker
}

WEIR_TEST(KnownBugs, pybreaker_3_nothing_is_locked_across_the_call) {
    circuit_breaker breaker;
    // From inside a call, others run, and even a call through the same breaker.
    const outcome<int> ended = co_await breaker.settle([&]() -> task<int> {
        const auto other = start_call(breaker, succeed);
        const outcome<int>& parallel = co_await other;
        const outcome<int> nested = co_await breaker.settle(succeed);
        EXPECT_EQ(breaker.stats().in_flight(), 1u);
        co_return parallel.value() + nested.value();
    });
    EXPECT_EQ(ended.value(), 2);
}

}  // namespace
}  // namespace flow_breaker
