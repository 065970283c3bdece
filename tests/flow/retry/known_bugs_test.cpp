// SPDX-License-Identifier: MIT
// Bugs that other libraries had in retries, timeouts around them, and hedges.

#include "support.hpp"

#include <weir/flow/hedge.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/weir.hpp>

namespace {

using namespace retry_tests;
using weir::clock;

// The exponent overflowed, the delay became negative or zero, and the maximum did not apply.
TEST(KnownBugs, polly_1866_overflow_of_the_exponent_never_bypasses_the_maximum) {
    for (const double factor : {1.5, 2.0, 10.0, 1e300}) {
        for (const auto maximum :
             {clock::duration(30s), clock::duration(24h), clock::duration::max()}) {
            for (const weir::jitter spread :
                 {weir::jitter::none(), weir::jitter::equal(), weir::jitter::by(0.5),
                  weir::jitter::decorrelated(), weir::jitter::by(clock::duration::max())}) {
                const weir::backoff_options options{
                    .initial = 1s, .factor = factor, .maximum = maximum, .jitter = spread};
                weir::decision::backoff delays(options);
                weir::decision::random_source random(3);
                clock::duration last{};
                for (int i = 0; i < 5000; ++i) {
                    last = delays.next(random);
                    ASSERT_GE(last, 0s) << i;
                    ASSERT_LE(last, maximum) << i;
                }
                if (spread.which() == weir::jitter::kind::none) {
                    EXPECT_EQ(last, maximum);
                } else if (spread.which() == weir::jitter::kind::equal) {
                    EXPECT_GE(last, maximum / 2 - 1s);
                }
            }
        }
    }
}

// The limit was looked at before the delay, and the delay went past it.
WEIR_TEST(KnownBugs, tenacity_423_a_limit_of_5_s_does_not_run_7_s) {
    flaky work(100);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::retry(
            {.max_attempts = 10, .total_time = 5s, .backoff = weir::exponential_backoff(1s, 60s)},
            work),
        flaky_error);
    EXPECT_EQ(weir::now() - begin, 3s);  // 1 + 2; another 4 would make 7
    flaky slow(100, 3500ms);
    const auto again = weir::now();
    WEIR_EXPECT_TIMEOUT(weir::retry(
        {.max_attempts = 10, .total_time = 5s, .backoff = weir::constant_backoff(1s)}, slow));
    EXPECT_EQ(weir::now() - again, 5s);
}

TEST(KnownBugs, jitter_after_the_cap_does_not_exceed_it) {
    for (const weir::jitter spread :
         {weir::jitter::full(), weir::jitter::equal(), weir::jitter::decorrelated(),
          weir::jitter::by(1.0), weir::jitter::by(5s)}) {
        const weir::backoff_options options{.initial = 1s, .maximum = 10s, .jitter = spread};
        weir::decision::random_source random(5);
        for (int i = 0; i < 1000; ++i) {
            weir::decision::backoff delays(options);
            for (int step = 0; step < 8; ++step) {
                const clock::duration delay = delays.next(random);
                ASSERT_LE(delay, 10s);
                ASSERT_GE(delay, 0s);
            }
        }
    }
}

TEST(KnownBugs, failsafe_234_an_outer_timeout_leaves_no_inner_retries_running) {
    expect_always(
        []() -> task<> {
            flaky work(1000, 300ms);
            weir::retry_policy policy(
                {.max_attempts = 1000, .backoff = weir::constant_backoff(100ms)});
            WEIR_EXPECT_ANY_THROW(weir::timeout(1s, policy.run(work)));
            const int calls = work.calls;
            co_await weir::sleep(1h);
            EXPECT_EQ(work.calls, calls);
            EXPECT_EQ(policy.stats().waiting, 0u);
            weir::pipeline both("both", weir::total_timeout{1s},
                                weir::retry_options{.max_attempts = 1000,
                                                    .backoff = weir::constant_backoff(100ms)});
            flaky other(1000, 300ms);
            const outcome<int> ended = co_await both.settle([&other] { return other(); });
            EXPECT_TRUE(ended.has_error());
            const int made = other.calls;
            co_await weir::sleep(1h);
            EXPECT_EQ(other.calls, made);
        },
        50);
}

// The timeout stopped an attempt, the retry saw that as one more failure, and the caller got an
// error of the attempts instead of the timeout.
WEIR_TEST(KnownBugs, polly_2278_the_timeout_surfaces_and_not_the_inner_error) {
    flaky work(1000, 300ms);
    weir::retry_policy policy({.max_attempts = 1000, .backoff = weir::constant_backoff(100ms)});
    // 0-300, 400-700, 800-: at 1 s the third is running.
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, policy.run(work)));
    weir::pipeline both(
        "both", weir::total_timeout{1s},
        weir::retry_options{.max_attempts = 1000, .backoff = weir::constant_backoff(100ms)});
    const outcome<int> ended = co_await both.settle([&work] { return work(); });
    EXPECT_NE(outcome_view(ended).error<weir::timed_out>(), nullptr);
    // Nor does an attempt that sees its stop as an exception hide it.
    int calls = 0;
    auto sees_it = [&calls]() -> task<> {
        ++calls;
        co_await weir::catchable(weir::sleep(1h));
    };
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, policy.run(sees_it)));
    EXPECT_EQ(calls, 1);
    WEIR_EXPECT_TIMEOUT(weir::retry({.total_time = 1s}, sees_it));
    EXPECT_EQ(calls, 2);
}

// The winner's result depended on the context of its attempt, which was cancelled with the losers.
TEST(KnownBugs, failsafe_go_65_the_winner_is_not_cancelled_with_the_losers) {
    expect_always(
        []() -> task<> {
            int attempts = 0;
            int losers_stopped = 0;
            auto body = [](int length) -> task<int> {
                for (int i = 0; i < length; ++i) {
                    co_await weir::sleep(1s);
                }
                co_return length;
            };
            // The answer comes with a body that is still being read.
            auto request = [&]() -> task<weir::handle<int>> {
                const bool is_first = ++attempts == 1;
                struct counter {
                    int* count;
                    ~counter() {
                        if (count != nullptr) {
                            ++*count;
                        }
                    }
                } stopped{&losers_stopped};
                co_await weir::sleep(is_first ? 1h : clock::duration(50ms));
                stopped.count = nullptr;
                co_return weir::spawn(body, 10);
            };
            weir::pipeline client("client", weir::retry_options{},
                                  weir::hedge_options{.delay = 100ms});
            const weir::handle<int> answer = co_await client.run(request);
            EXPECT_EQ(losers_stopped, 1);
            const int length = co_await answer;
            EXPECT_EQ(length, 10);
            EXPECT_EQ(attempts, 2);
        },
        50);
}

// The winner's answer was held back until a loser that did not heed its cancellation had ended.
TEST(KnownBugs, dotnet_extensions_5699_a_loser_that_ignores_cancellation_does_not_hold_the_winner) {
    expect_always(
        []() -> task<> {
            const auto attempt = [](int number) -> task<int> {
                if (number == 1) {
                    co_await weir::shield(weir::sleep(1h, 0));
                }
                co_await weir::sleep(50ms);
                co_return number;
            };
            const auto begin = weir::now();
            weir::hedge_policy patient({.delay = 100ms});
            const int got = co_await patient.run(attempt);
            EXPECT_EQ(got, 2);
            EXPECT_EQ(weir::now() - begin, 1150ms);  // the grace is one second
            EXPECT_EQ(patient.stats().stragglers, 1u);
            const auto second = weir::now();
            {
                weir::hedge_policy hasty({.delay = 100ms, .loser_grace = 0s});
                const int next = co_await hasty.run(attempt);
                EXPECT_EQ(next, 2);
            }  // a straggler does not need its policy
            EXPECT_EQ(weir::now() - second, 150ms);
            co_await patient.drain();
            EXPECT_EQ(patient.stats().stragglers, 0u);
            EXPECT_EQ(weir::now() - begin, 1h);
            co_await weir::sleep(10s);  // the other straggler ends, too
        },
        50);
}

// A budget that was used up failed the call, and stopped the attempts that were running.
WEIR_TEST(KnownBugs, failsafe_go_141_an_exhausted_budget_leaves_running_attempts_alone) {
    weir::retry_budget empty(weir::ratio_budget{.ratio = 0, .reserve_per_second = 0});
    weir::hedge_policy policy({.delay = 100ms, .max_hedges = 3, .budget = &empty});
    int attempts = 0;
    const auto begin = weir::now();
    const int got = co_await policy.run([&attempts]() -> task<int> {
        ++attempts;
        co_await weir::sleep(1s);
        co_return 7;
    });
    EXPECT_EQ(got, 7);
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_EQ(policy.stats().budget_refused, 3u);
}

}  // namespace
