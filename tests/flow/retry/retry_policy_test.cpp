// SPDX-License-Identifier: MIT
// Retry policies: which outcomes are retried, when, for how long, and how a call ends.

#include "support.hpp"

#include <weir/flow/prometheus.hpp>
#include <weir/weir.hpp>

#include <cmath>

namespace {

using namespace retry_tests;

struct response {
    int status = 200;
    std::chrono::seconds retry_after{};
};

WEIR_TEST(RetryPolicy, ErrorsAreChosenByType) {
    weir::retry_policy policy({.backoff = doubling, .retry_if = [](const outcome_view& ended) {
                                   return ended.error<flaky_error>() != nullptr;
                               }});
    flaky work(1);
    const int got = co_await policy.run(work);
    EXPECT_EQ(got, 2);
    int calls = 0;
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(policy.run([&]() -> task<> {
        ++calls;
        throw fatal_error();
        co_return;
    }),
                      fatal_error);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(weir::now(), begin);
    EXPECT_EQ(policy.stats().aborted, 1u);
}

WEIR_TEST(RetryPolicy, ValuesMayBeRetried) {
    weir::retry_policy policy(
        {.max_attempts = 3, .backoff = doubling, .retry_if = [](const outcome_view& ended) {
             const response* got = ended.value<response>();
             return got != nullptr && got->status == 503;
         }});
    int calls = 0;
    const response good = co_await policy.run([&] { return response{++calls < 3 ? 503 : 200}; });
    EXPECT_EQ(good.status, 200);
    const response bad = co_await policy.run([] { return response{503}; });
    EXPECT_EQ(bad.status, 503);  // the last one, as it is
    EXPECT_EQ(policy.stats().exhausted, 1u);
    EXPECT_EQ(policy.stats().succeeded_on_retry, 1u);
}

WEIR_TEST(RetryPolicy, OneThatThrowsEndsTheCall) {
    weir::retry_budget budget(weir::in_flight_budget{});
    weir::retry_policy policy(
        {.retry_if = [](const outcome_view&) -> bool { throw fatal_error(); }, .budget = &budget});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), fatal_error);
    EXPECT_EQ(work.calls, 1);
    EXPECT_EQ(budget.stats().calls_in_flight, 0u);
}

WEIR_TEST(RetryPolicy, AbortBeatsRetry) {
    weir::retry_policy policy(
        {.backoff = doubling,
         .retry_if = [](const outcome_view&) { return true; },
         .abort_if =
             [](const outcome_view& ended) { return ended.error<fatal_error>() != nullptr; }});
    int calls = 0;
    const outcome<> ended = co_await policy.settle([&] {
        if (++calls == 2) {
            throw fatal_error();
        }
        throw flaky_error();
    });
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(weir::describe(ended.error()), "no such page");
}

WEIR_TEST(RetryPolicy, RefusalsAreRetriedIfTimeHeals) {
    weir::retry_policy policy({.max_attempts = 2, .backoff = doubling});
    const auto attempts_on = [&](weir::refusal why) -> task<int> {
        int calls = 0;
        auto refuse = [&]() -> task<> {
            ++calls;
            throw weir::refused(why);
            co_return;
        };
        const outcome<> ended = co_await policy.settle(refuse);
        EXPECT_TRUE(ended.is_refused());
        co_return calls;
    };
    using enum weir::refusal_reason;
    for (const auto reason : {rate_limited, concurrency_limited, queue_full, wait_too_long,
                              circuit_open, circuit_on_trial, displaced}) {
        const int calls = co_await attempts_on({reason});
        EXPECT_EQ(calls, 2) << to_string(reason);
    }
    for (const auto reason : {circuit_isolated, budget_exhausted, shut_down}) {
        const int calls = co_await attempts_on({reason});
        EXPECT_EQ(calls, 1) << to_string(reason);
    }
    const int calls = co_await attempts_on({rate_limited, weir::refusal::never});
    EXPECT_EQ(calls, 1);
}

// ---- delays

WEIR_TEST(RetryPolicy, WhatTheOutcomeAsksForIsTheLeast) {
    delays waits;
    weir::retry_policy policy(
        {.max_attempts = 4,
         .backoff = weir::exponential_backoff(2s, 5s),
         .retry_if =
             [](const outcome_view& ended) { return ended.value<response>()->status == 503; },
         .delay_from = [](const outcome_view& ended) -> std::optional<weir::clock::duration> {
             const response& got = *ended.value<response>();
             return got.retry_after > 0s ? std::optional(got.retry_after) : std::nullopt;
         },
         .on_retry = [&](const weir::retry_event& event) { waits.push_back(event.delay); }});
    std::vector<response> replies{{503, 10s}, {503, 1s}, {503, 0s}, {200, 0s}};
    std::size_t next = 0;
    co_await policy.run([&] { return replies[next++]; });
    EXPECT_EQ(waits, (delays{10s, 4s, 5s}));  // 10 s: more than the maximum of the backoff
}

WEIR_TEST(RetryPolicy, RefusalsSayWhenToAskAgain) {
    weir::retry_policy policy({.backoff = weir::constant_backoff(1s)});
    int calls = 0;
    const auto begin = weir::now();
    co_await policy.run([&] {
        if (++calls < 3) {
            throw weir::refused({weir::refusal_reason::circuit_open, 7s});
        }
    });
    EXPECT_EQ(weir::now() - begin, 14s);
}

WEIR_TEST(RetryPolicy, WhoAsksForTooMuchIsNotRetried) {
    weir::retry_policy policy({.backoff = doubling, .max_asked_delay = 1min});
    int calls = 0;
    const auto begin = weir::now();
    const outcome<> ended = co_await policy.settle([&] {
        ++calls;
        throw weir::refused({weir::refusal_reason::rate_limited, 1h});
    });
    EXPECT_TRUE(ended.is_refused());
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(weir::now(), begin);
}

// ---- time

WEIR_TEST(RetryPolicy, ADelayThatWouldPassTheLimitIsNotBegun) {
    flaky work(100);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::retry({.max_attempts = 100, .total_time = 10s, .backoff = doubling}, work),
        flaky_error);
    EXPECT_EQ(weir::now() - begin, 7s);  // 1 + 2 + 4, and 8 more would be too many
    EXPECT_EQ(work.calls, 4);
}

// An attempt that could only begin at the very limit is not waited for.
WEIR_TEST(RetryPolicy, ADelayUpToTheLimitIsNotBegunEither) {
    flaky work(100);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::retry({.max_attempts = 100, .total_time = 3s, .backoff = doubling}, work),
        flaky_error);
    EXPECT_EQ(weir::now() - begin, 1s);
}

WEIR_TEST(RetryPolicy, AnAttemptIsStoppedAtTheLimit) {
    flaky work(100, 3s);
    const auto begin = weir::now();
    WEIR_EXPECT_TIMEOUT(
        weir::retry({.max_attempts = 100, .total_time = 5s, .backoff = doubling}, work));
    EXPECT_EQ(weir::now() - begin, 5s);
    EXPECT_EQ(work.calls, 2);
    flaky fits(1, 2s);
    const int got = co_await weir::retry({.total_time = 6s, .backoff = doubling}, fits);
    EXPECT_EQ(got, 2);
}

WEIR_TEST(RetryPolicy, DeadlinesAroundItCountToo) {
    flaky work(100);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::timeout(10s, weir::retry({.max_attempts = 100, .backoff = doubling}, work)),
        flaky_error);
    EXPECT_EQ(weir::now() - begin, 7s);  // not 10 s of waiting for nothing
}

WEIR_TEST(RetryPolicy, AttemptsSeeTheLimitAsTheirDeadline) {
    const auto begin = weir::now();
    auto look = []() -> task<weir::clock::time_point> { co_return weir::current_deadline(); };
    const auto seen = co_await weir::retry({.total_time = 5s}, look);
    EXPECT_EQ(seen, begin + 5s);
}

WEIR_TEST(RetryPolicy, MayThrowAnErrorOfItsOwn) {
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

WEIR_TEST(RetryPolicy, TheErrorOfItsOwnHasRefusalsAndValuesToo) {
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

WEIR_TEST(RetryPolicy, WhatIsNotRetriedIsThrownAsItIs) {
    weir::retry_policy policy({.backoff = doubling,
                               .abort_if = [](const outcome_view&) { return true; },
                               .exhausted = weir::when_exhausted::throws});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), flaky_error);
}

WEIR_TEST(RetryPolicy, EverybodyIsTold) {
    struct journal final : weir::observer {
        std::vector<std::string> lines;
        void on_event(const weir::flow_event& event) noexcept override {
            lines.push_back(std::string(event.kind) + " " + std::string(event.name) + " " +
                            std::string(event.what) + " " + std::to_string(event.value));
        }
    } seen;
    std::vector<std::string> events;
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
                 events.push_back("retry " + std::to_string(event.attempt));
             },
         .on_aborted =
             [&](const weir::retry_event& event) {
                 EXPECT_EQ(event.end, weir::retry_end::aborted);
                 events.push_back("aborted " + std::to_string(event.attempt));
             },
         .on_exhausted =
             [&](const weir::retry_event& event) {
                 EXPECT_EQ(event.end, weir::retry_end::attempts);
                 events.push_back("exhausted " + std::to_string(event.attempt));
             },
         .observer = &seen});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), flaky_error);
    WEIR_EXPECT_THROW(policy.run([] { throw fatal_error(); }), fatal_error);
    EXPECT_EQ(events, (std::vector<std::string>{"retry 1", "exhausted 2", "aborted 1"}));
    EXPECT_EQ(seen.lines, (std::vector<std::string>{"retry pages retry 1.000000",
                                                    "retry pages exhausted 2.000000",
                                                    "retry pages aborted 1.000000"}));
    weir::prometheus_writer page;
    policy.write_metrics(page);
    EXPECT_NE(page.text().find("weir_retry_retries_total{name=\"pages\"} 1"), std::string::npos)
        << page.text();
}

WEIR_TEST(RetryPolicy, CancellationIsNeverRetriedNorCounted) {
    int checks = 0;
    weir::retry_policy policy({.backoff = doubling, .retry_if = [&](const outcome_view&) {
                                   ++checks;
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
    EXPECT_EQ(checks, 0);
    EXPECT_EQ(policy.stats().cancelled, 1u);
    EXPECT_EQ(policy.stats().exhausted + policy.stats().aborted + policy.stats().retries, 0u);
}

// Stopped at every step: in an attempt, in a delay, before the first.
TEST(RetryPolicy, AStopEndsItAtEveryPoint) {
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

WEIR_TEST(RetryPolicy, AnOverrideSwitchesWaitingOff) {
    const weir::retry_override quick(weir::retry_mode::without_waiting);
    flaky work(4);
    const auto begin = weir::now();
    const int got = co_await weir::retry({.max_attempts = 5, .backoff = doubling}, work);
    EXPECT_EQ(got, 5);
    EXPECT_EQ(weir::now(), begin);
}

WEIR_TEST(RetryPolicy, AnOverrideSwitchesRetryingOff) {
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

WEIR_TEST(RetryPolicy, JitterDiffersFromCallToCallAndNotFromRunToRun) {
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

void expect_refused(const weir::retry_options& options, std::string_view text) {
    try {
        const weir::retry_policy made(options);
        ADD_FAILURE() << "accepted: " << text;
    } catch (const weir::invalid_argument& error) {
        EXPECT_NE(std::string_view(error.what()).find(text), std::string_view::npos)
            << error.what();
    }
}

TEST(RetryPolicy, RefusesInvalidOptions) {
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
