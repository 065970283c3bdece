// SPDX-License-Identifier: MIT
// Options of retry: what is retried, when, and for how long.

#include "support.hpp"

#include <weir/weir.hpp>

namespace {

using namespace retry_tests;

struct response {
    int status = 200;
    std::chrono::seconds retry_after{};
};

WEIR_TEST(RetryPredicates, ErrorsAreChosenByType) {
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

WEIR_TEST(RetryPredicates, ValuesMayBeRetried) {
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

WEIR_TEST(RetryPredicates, OneThatThrowsEndsTheCall) {
    weir::retry_budget budget(weir::in_flight_budget{});
    weir::retry_policy policy(
        {.retry_if = [](const outcome_view&) -> bool { throw fatal_error(); }, .budget = &budget});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), fatal_error);
    EXPECT_EQ(work.calls, 1);
    EXPECT_EQ(budget.stats().calls_in_flight, 0u);
}

WEIR_TEST(RetryPredicates, AbortBeatsRetry) {
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

WEIR_TEST(RetryPredicates, RefusalsAreRetriedIfTimeHeals) {
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
// --------------------------------------------------------------------------------------

WEIR_TEST(RetryDelays, WhatTheOutcomeAsksForIsTheLeast) {
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

WEIR_TEST(RetryDelays, RefusalsSayWhenToAskAgain) {
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

WEIR_TEST(RetryDelays, WhoAsksForTooMuchIsNotRetried) {
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
// ----------------------------------------------------------------------------------------

WEIR_TEST(RetryTime, ADelayThatWouldPassTheLimitIsNotBegun) {
    flaky work(100);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::retry({.max_attempts = 100, .total_time = 10s, .backoff = doubling}, work),
        flaky_error);
    EXPECT_EQ(weir::now() - begin, 7s);  // 1 + 2 + 4, and 8 more would be too many
    EXPECT_EQ(work.calls, 4);
}

// An attempt that could only begin at the very limit is not waited for.
WEIR_TEST(RetryTime, ADelayUpToTheLimitIsNotBegunEither) {
    flaky work(100);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::retry({.max_attempts = 100, .total_time = 3s, .backoff = doubling}, work),
        flaky_error);
    EXPECT_EQ(weir::now() - begin, 1s);
}

WEIR_TEST(RetryTime, AnAttemptIsStoppedAtTheLimit) {
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

WEIR_TEST(RetryTime, DeadlinesAroundItCountToo) {
    flaky work(100);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::timeout(10s, weir::retry({.max_attempts = 100, .backoff = doubling}, work)),
        flaky_error);
    EXPECT_EQ(weir::now() - begin, 7s);  // not 10 s of waiting for nothing
}

WEIR_TEST(RetryTime, AttemptsSeeTheLimitAsTheirDeadline) {
    const auto begin = weir::now();
    auto look = []() -> task<weir::clock::time_point> { co_return weir::current_deadline(); };
    const auto seen = co_await weir::retry({.total_time = 5s}, look);
    EXPECT_EQ(seen, begin + 5s);
}

}  // namespace
