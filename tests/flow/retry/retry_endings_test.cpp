// SPDX-License-Identifier: MIT
// How retrying ends: what comes out, who is told, cancellation, the switch for tests, and bad
// options.

#include "support.hpp"

#include <weir/flow/prometheus.hpp>
#include <weir/weir.hpp>

#include <cmath>

namespace {

using namespace retry_tests;

WEIR_TEST(RetryEndings, MayThrowAnErrorOfItsOwn) {
    weir::retry_policy policy({.name = "pages",
                               .max_attempts = 3,
                               .backoff = doubling,
                               .exhausted = weir::when_exhausted::throws});
    flaky work(100);
    const outcome<int> ended = co_await policy.settle(work);
    WEIR_ASSERT_TRUE(ended.has_error());
    try {
        std::rethrow_exception(ended.error());
    } catch (const weir::retries_exhausted& error) {
        EXPECT_EQ(error.attempts(), 3);
        EXPECT_EQ(error.why(), weir::retry_end::attempts);
        EXPECT_STREQ(error.what(),
                     "pages: gave up after 3 attempts (no attempt is left); the last error: the "
                     "connection was lost");
        EXPECT_THROW(std::rethrow_if_nested(error), flaky_error);
    }
}

WEIR_TEST(RetryEndings, TheErrorOfItsOwnHasRefusalsAndValuesToo) {
    weir::retry_policy policy({.max_attempts = 2,
                               .backoff = doubling,
                               .retry_if = [](const outcome_view&) { return true; },
                               .exhausted = weir::when_exhausted::throws});
    auto refuse = [] { throw weir::refused({weir::refusal_reason::queue_full}); };
    const outcome<> refused = co_await policy.settle(refuse);
    try {
        refused.value();
        ADD_FAILURE();
    } catch (const weir::retries_exhausted& error) {
        EXPECT_THROW(std::rethrow_if_nested(error), weir::refused);
    }
    const outcome<int> unwanted = co_await policy.settle([] { return 1; });
    try {
        unwanted.value();
        ADD_FAILURE();
    } catch (const weir::retries_exhausted& error) {
        EXPECT_EQ(error.nested_ptr(), nullptr);
        EXPECT_STREQ(error.what(), "gave up after 2 attempts (no attempt is left)");
    }
}

WEIR_TEST(RetryEndings, WhatIsNotRetriedIsThrownAsItIs) {
    weir::retry_policy policy({.backoff = doubling,
                               .abort_if = [](const outcome_view&) { return true; },
                               .exhausted = weir::when_exhausted::throws});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), flaky_error);
}

WEIR_TEST(RetryEndings, EverybodyIsTold) {
    struct journal final : weir::observer {
        std::vector<std::string> lines;
        void on_event(const weir::flow_event& event) noexcept override {
            lines.push_back(std::string(event.kind) + " " + std::string(event.name) + " " +
                            std::string(event.what) + " " + std::to_string(event.value));
        }
    } seen;
    std::vector<std::string> told;
    weir::retry_policy policy(
        {.name = "pages",
         .max_attempts = 2,
         .backoff = doubling,
         .abort_if =
             [](const outcome_view& ended) { return ended.error<fatal_error>() != nullptr; },
         .on_retry =
             [&](const weir::retry_event& event) {
                 EXPECT_EQ(event.name, "pages");
                 EXPECT_EQ(event.delay, 1s);
                 EXPECT_NE(event.outcome.error<flaky_error>(), nullptr);
                 told.push_back("retry " + std::to_string(event.attempt));
             },
         .on_aborted =
             [&](const weir::retry_event& event) {
                 EXPECT_EQ(event.end, weir::retry_end::aborted);
                 told.push_back("aborted " + std::to_string(event.attempt));
             },
         .on_exhausted =
             [&](const weir::retry_event& event) {
                 EXPECT_EQ(event.end, weir::retry_end::attempts);
                 told.push_back("exhausted " + std::to_string(event.attempt));
             },
         .observer = &seen});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), flaky_error);
    WEIR_EXPECT_THROW(policy.run([] { throw fatal_error(); }), fatal_error);
    EXPECT_EQ(told, (std::vector<std::string>{"retry 1", "exhausted 2", "aborted 1"}));
    EXPECT_EQ(seen.lines, (std::vector<std::string>{"retry pages retry 1.000000",
                                                    "retry pages exhausted 2.000000",
                                                    "retry pages aborted 1.000000"}));
    weir::prometheus_writer page;
    policy.write_metrics(page);
    EXPECT_NE(page.text().find("weir_retry_retries_total{name=\"pages\"} 1"), std::string::npos)
        << page.text();
}

// ---- cancellation
// --------------------------------------------------------------------------------

WEIR_TEST(RetryCancellation, IsNeverRetriedNorCounted) {
    int asked = 0;
    weir::retry_policy policy({.backoff = doubling, .retry_if = [&](const outcome_view&) {
                                   ++asked;
                                   return true;
                               }});
    const auto victim = weir::spawn(weir::sleep(1h, 1));
    victim.cancel("gone");
    int calls = 0;
    const outcome<int> ended = co_await policy.settle([&] {
        ++calls;
        return victim;
    });
    EXPECT_TRUE(ended.is_cancelled());
    EXPECT_EQ(ended.reason(), "gone");
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(policy.stats().cancelled, 1u);
    EXPECT_EQ(policy.stats().exhausted + policy.stats().aborted + policy.stats().retries, 0u);
}

// Stopped at every step: in an attempt, in a delay, before the first.
TEST(RetryCancellation, AStopEndsItAtEveryPoint) {
    for (int step = 0; step < 12; ++step) {
        expect_always(
            [step]() -> task<> {
                weir::retry_budget budget(weir::in_flight_budget{});
                weir::retry_policy policy(
                    {.max_attempts = 50, .backoff = weir::constant_backoff(2s), .budget = &budget});
                flaky work(100, 1s);
                bool has_returned = false;
                auto body = [&]() -> task<> {
                    const outcome<int> ended = co_await policy.settle(work);
                    has_returned = true;
                    EXPECT_FALSE(ended.has_value());
                };
                const auto running = weir::spawn(body);
                co_await weir::testing::advance(500ms * step);
                const int calls = work.calls;
                running.cancel();
                co_await running.wait();
                EXPECT_TRUE(running.cancelled());
                EXPECT_FALSE(has_returned);
                co_await weir::sleep(1h);
                EXPECT_EQ(work.calls, calls);  // no attempt after the stop
                EXPECT_EQ(policy.stats().waiting, 0u);
                EXPECT_EQ(policy.stats().cancelled, 0u);
                EXPECT_EQ(budget.stats().calls_in_flight, 0u);
                EXPECT_EQ(budget.stats().extra_in_flight, 0u);
            },
            20);
    }
}

// ---- in tests
// ------------------------------------------------------------------------------------

WEIR_TEST(RetryOverride, SwitchesWaitingOff) {
    const weir::retry_override quick(weir::retry_mode::without_waiting);
    flaky work(4);
    const auto begin = weir::now();
    const int got = co_await weir::retry({.max_attempts = 5, .backoff = doubling}, work);
    EXPECT_EQ(got, 5);
    EXPECT_EQ(weir::now(), begin);
}

WEIR_TEST(RetryOverride, SwitchesRetryingOff) {
    flaky work(4);
    {
        const weir::retry_override off(weir::retry_mode::off);
        {
            const weir::retry_override inner(weir::retry_mode::without_waiting);
        }
        WEIR_EXPECT_THROW(weir::retry({.max_attempts = 5, .backoff = doubling}, work), flaky_error);
        EXPECT_EQ(work.calls, 1);
    }
    const int got = co_await weir::retry({.max_attempts = 5, .backoff = doubling}, work);
    EXPECT_EQ(got, 5);
}

WEIR_TEST(RetrySeeds, JitterDiffersFromCallToCallAndNotFromRunToRun) {
    delays first;
    for (int i = 0; i < 20; ++i) {
        flaky work(1);
        const auto begin = weir::now();
        co_await weir::retry({.backoff = {.initial = 1s}}, work);
        first.push_back(weir::now() - begin);
    }
    std::sort(first.begin(), first.end());
    EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
    EXPECT_LT(first.back(), 1s);
    delays twice;
    for (int i = 0; i < 2; ++i) {
        flaky work(1);
        const auto begin = weir::now();
        co_await weir::retry({.backoff = {.initial = 1s}, .seed = 17}, work);
        twice.push_back(weir::now() - begin);
    }
    EXPECT_EQ(twice[0], twice[1]);
}

// ---- bad options
// ---------------------------------------------------------------------------------

void expect_refused(const weir::retry_options& options, std::string_view text) {
    try {
        const weir::retry_policy made(options);
        ADD_FAILURE() << "accepted: " << text;
    } catch (const weir::invalid_argument& error) {
        EXPECT_NE(std::string_view(error.what()).find(text), std::string_view::npos)
            << error.what();
    }
}

TEST(RetryOptions, BadOnesAreNamed) {
    expect_refused({.max_attempts = 0}, "retry: max_attempts is 0; it must be at least 1");
    expect_refused({.name = "pages", .max_attempts = -3}, "retry pages: max_attempts is -3");
    expect_refused({.total_time = 0s}, "total_time is 0 s");
    expect_refused({.total_time = -1s}, "total_time is -1 s");
    expect_refused({.max_asked_delay = -1s}, "max_asked_delay");
    expect_refused({.backoff = {.initial = -1s}}, "backoff.initial is -1 s");
    expect_refused({.backoff = {.initial = 2s, .maximum = 1s}}, "backoff.maximum is 1 s");
    expect_refused({.backoff = {.factor = 0.5}}, "backoff.factor is 0.5");
    expect_refused({.backoff = {.factor = std::nan("")}}, "backoff.factor is nan");
    expect_refused({.backoff = {.factor = INFINITY}}, "backoff.factor is inf");
    expect_refused({.backoff = {.step = -1s}}, "backoff.step");
    expect_refused({.backoff = {.jitter = weir::jitter::by(1.5)}}, "backoff.jitter is 1.5");
    expect_refused({.backoff = {.jitter = weir::jitter::by(std::nan(""))}}, "backoff.jitter");
    expect_refused({.backoff = {.jitter = weir::jitter::by(-1s)}}, "backoff.jitter is -1");
    expect_refused({.backoff = weir::linear_backoff(1s, 5s, weir::jitter::decorrelated())},
                   "decorrelated");
    // At the call already, not when it is awaited.
    EXPECT_THROW(
        { auto made = weir::retry({.max_attempts = 0}, [] { return 1; }); },
        weir::invalid_argument);
    EXPECT_THROW(weir::retrying({.max_attempts = 0}, [] { return 1; }), weir::invalid_argument);
    EXPECT_THROW(weir::retry_loop({.max_attempts = 0}), weir::invalid_argument);
}

}  // namespace
