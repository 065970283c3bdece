// SPDX-License-Identifier: MIT
// Bugs that other rate limiters had, each as a test that an implementation with that bug fails.

#include "support.hpp"

#include <weir/flow/fixed_window.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

namespace {

using namespace limiter_tests;
using weir::refusal_reason;
using weir::task;
using weir::token_bucket;
using weir::testing::settle_all;

constexpr time_point start(1h);

// A time stamp older than the last one turned the clock back, and the time until now counted again.
TEST(KnownBugs, golang_71360_an_old_time_stamp_mints_no_tokens) {
    weir::decision::gcra bucket({.rate = 1, .burst = 10});
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(bucket.try_take(start).granted);
    }
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(bucket.try_take(start - 10s).granted);
        EXPECT_FALSE(bucket.try_take(start).granted);
    }
    EXPECT_EQ(bucket.try_take(start).wait, 1s);
}

// Cancelling a reservation brought back too few tokens when others had been made after it.
WEIR_TEST(KnownBugs, golang_69419_cancelling_brings_back_all_that_was_reserved) {
    token_bucket bucket({.rate = 1, .burst = 5});
    auto first = bucket.reserve(5).value();
    auto second = bucket.reserve(3).value();
    auto third = bucket.reserve(1).value();
    const auto begin = weir::now();
    EXPECT_EQ(first.when(), begin);
    EXPECT_EQ(second.when(), begin + 3s);
    EXPECT_EQ(third.when(), begin + 4s);
    second.cancel();
    EXPECT_EQ(third.when(), begin + 1s);
    first.cancel();
    EXPECT_TRUE(third.is_due());
    EXPECT_DOUBLE_EQ(bucket.decision().available(begin), 4);
    co_return;
}

// Cancelling brought back tokens that time had already brought back: more than there ever were.
WEIR_TEST(KnownBugs, golang_56924_cancelling_late_brings_nothing_back_twice) {
    token_bucket bucket({.rate = 1, .burst = 5});
    auto unused = bucket.reserve(5).value();
    co_await weir::sleep(5s);  // the bucket is full again
    EXPECT_TRUE(bucket.try_acquire(5));
    unused.cancel();
    EXPECT_DOUBLE_EQ(bucket.decision().available(weir::now()), 0);
    EXPECT_FALSE(bucket.try_acquire());
}

// After a pause, everything passed until the pause was made up for.
WEIR_TEST(KnownBugs, uber_ratelimit_119_idle_time_is_saved_up_to_the_burst_only) {
    token_bucket bucket({.rate = 100, .burst = 10});
    EXPECT_TRUE(bucket.try_acquire());
    co_await weir::sleep(1h);
    int passed = 0;
    while (bucket.try_acquire()) {
        ++passed;
    }
    EXPECT_EQ(passed, 10);
}

WEIR_TEST(KnownBugs, uber_ratelimit_106_no_burst_means_none_after_any_pause) {
    token_bucket bucket({.rate = 100});
    std::vector<grant> grants;
    for (int round = 0; round < 5; ++round) {
        co_await weir::sleep(std::chrono::seconds(round * round));
        for (int i = 0; i < 10; ++i) {
            co_await bucket.acquire();
            grants.push_back({weir::now()});
        }
    }
    EXPECT_EQ(exceeds_bucket(grants, 100, 1s, 1), std::nullopt);
}

// A waiter that had slept once continued, with or without a token.
WEIR_TEST(KnownBugs, tower_resilience_363_nobody_passes_without_a_permit) {
    token_bucket bucket({.rate = 10, .burst = 1});
    std::vector<grant> grants;
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 50; ++i) {
            group.spawn([&]() -> task<> {
                co_await bucket.acquire();
                grants.push_back({weir::now()});
            });
        }
        co_return;
    });
    EXPECT_EQ(grants.size(), 50u);
    EXPECT_EQ(exceeds_bucket(grants, 10, 1s, 1), std::nullopt);
    EXPECT_EQ(grants.back().when - grants.front().when, 4900ms);
}

// Counts its calls.
class counting_gcra : public weir::decision::gcra {
public:
    using gcra::gcra;
    weir::decision::verdict try_take(time_point now, double weight) noexcept {
        ++calls;
        return gcra::try_take(now, weight);
    }
    int calls = 0;
};

// At each tick all waiters woke, although only one of them could be admitted.
WEIR_TEST(KnownBugs, aiolimiter_73_only_those_wake_who_can_go) {
    weir::limiter<counting_gcra> bucket({.limits = {.rate = 10, .burst = 1}});
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (int i = 0; i < 1000; ++i) {
            group.spawn([&]() -> task<> { co_await bucket.acquire(); });
        }
        co_return;
    });
    EXPECT_LE(bucket.decision().calls, 3 * 1000);
}

// Small requests always found a token; a large request never found enough.
WEIR_TEST(KnownBugs, sidekiq_5315_large_requests_are_not_starved) {
    token_bucket bucket({.rate = 10, .burst = 10});
    EXPECT_TRUE(bucket.try_acquire(10));
    const auto begin = weir::now();
    auto small = weir::spawn([&]() -> task<> {
        for (;;) {
            co_await bucket.acquire();
        }
    });
    co_await weir::sleep(50ms);
    auto greedy = weir::spawn([&]() -> task<> {
        for (;;) {
            const bool ignored = bucket.try_acquire().has_value();
            (void)ignored;
            co_await weir::sleep(10ms);
        }
    });
    co_await bucket.acquire(10);
    EXPECT_LE(weir::now() - begin, 1200ms);
    small.cancel();
    greedy.cancel();
    co_await small.wait();
    co_await greedy.wait();
}

// The limit was divided into cycles of whole nanoseconds, and the rest let through limit - 1 more.
TEST(KnownBugs, resilience4j_822_rounding_admits_no_extra) {
    for (const int limit : {3, 7, 9, 11, 13, 999}) {
        weir::decision::gcra bucket({.rate = static_cast<double>(limit), .per = 1us, .burst = 1});
        weir::decision::sliding_log log({.limit = static_cast<double>(limit), .window = 1us});
        int by_bucket = 0;
        int by_log = 0;
        for (time_point now = start; now < start + 1us; now += 1ns) {
            by_bucket += bucket.try_take(now).granted ? 1 : 0;
            by_log += log.try_take(now).granted ? 1 : 0;
        }
        EXPECT_EQ(by_bucket, limit);
        EXPECT_EQ(by_log, limit);
    }
}

// One cell more or less than the burst.
TEST(KnownBugs, governor_107_a_burst_of_n_is_n) {
    for (const int burst : {1, 2, 3, 10, 1000}) {
        weir::decision::gcra bucket({.rate = 0.001, .burst = static_cast<double>(burst)});
        int passed = 0;
        while (bucket.try_take(start).granted) {
            ++passed;
        }
        EXPECT_EQ(passed, burst);
        EXPECT_TRUE(weir::decision::gcra({.rate = 1, .burst = static_cast<double>(burst)})
                        .try_take(start, burst)
                        .granted);
    }
}

// A time stamp that was written back too late stood in the future, or the past, for ever after.
TEST(KnownBugs, leaky_bucket_39_refill_goes_on_after_stale_time_stamps) {
    weir::decision::gcra bucket({.rate = 1, .burst = 1});
    EXPECT_TRUE(bucket.try_take(start + 10s).granted);
    EXPECT_FALSE(bucket.try_take(start).granted);
    EXPECT_FALSE(bucket.try_take(start - 1h).granted);
    EXPECT_FALSE(bucket.try_take(start + 10s).granted);
    for (int i = 11; i < 100; ++i) {
        EXPECT_TRUE(bucket.try_take(start + std::chrono::seconds(i)).granted) << i;
    }
}

WEIR_TEST(KnownBugs, dotnet_64078_a_cancelled_waiter_leaves_its_place) {
    token_bucket bucket({.rate = 1, .burst = 1, .max_waiting = 1});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto use = [&]() -> task<> { co_await bucket.acquire(); };
    for (int i = 0; i < 10; ++i) {
        const auto waiting = weir::spawn(use());
        co_await settle_all();
        EXPECT_EQ(bucket.stats().waiting, 1u);
        waiting.cancel();
        co_await waiting.wait();
        EXPECT_EQ(bucket.stats().waiting, 0u);
    }
    const auto in = co_await bucket.admit();
    EXPECT_TRUE(in);
    EXPECT_EQ(weir::now() - begin, 1s);
}

WEIR_TEST(KnownBugs, dotnet_92557_retry_after_is_not_the_whole_window) {
    weir::sliding_window sliding({.limit = 2, .window = 10s});
    weir::fixed_window fixed({.limit = 1, .window = 10s});
    EXPECT_TRUE(sliding.try_acquire());
    EXPECT_TRUE(fixed.try_acquire());
    co_await weir::sleep(4s);
    EXPECT_TRUE(sliding.try_acquire());
    co_await weir::sleep(3s);
    const auto by_sliding = sliding.try_acquire();
    const auto by_fixed = fixed.try_acquire();
    EXPECT_EQ(by_sliding.refusal().retry_after, 3s);
    EXPECT_EQ(by_fixed.refusal().retry_after, 3s);
}

// The waiter slept until its timeout, although the refusal was certain from the start.
WEIR_TEST(KnownBugs, resilience4j_2194_a_doomed_waiter_fails_at_once) {
    token_bucket bucket({.rate = 0.1, .burst = 1});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto ask = [&]() -> task<weir::refusal> {
        const auto in = co_await bucket.admit();
        co_return in ? weir::refusal{} : in.refusal();
    };
    const auto why = co_await weir::timeout(5s, ask());
    EXPECT_EQ(why.reason, refusal_reason::past_deadline);
    EXPECT_EQ(why.retry_after, 10s);
    EXPECT_EQ(weir::now(), begin);
}

WEIR_TEST(KnownBugs, upstash_39_a_limit_of_one_passes_one) {
    weir::sliding_window sliding({.limit = 1});
    weir::sliding_window_counter counter({.limit = 1});
    weir::fixed_window fixed({.limit = 1});
    token_bucket bucket({.rate = 1});
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(sliding.try_acquire());
        EXPECT_TRUE(counter.try_acquire());
        EXPECT_TRUE(fixed.try_acquire());
        EXPECT_TRUE(bucket.try_acquire());
        EXPECT_FALSE(sliding.try_acquire());
        EXPECT_FALSE(fixed.try_acquire());
        EXPECT_FALSE(bucket.try_acquire());
        co_await weir::sleep(2s);
    }
}

// A burst, and what flows in after it, exceed the limit within one window. That is what a bucket
// is; the window is the strict variant.
template <class Limiter>
task<std::vector<grant>> burst_after_idle(Limiter& limiter) {
    std::vector<grant> grants;
    co_await weir::sleep(1h);
    for (int i = 0; i < 50; ++i) {
        co_await limiter.acquire();
        grants.push_back({weir::now()});
    }
    co_return grants;
}

WEIR_TEST(KnownBugs, governor_16_the_window_is_strict_where_the_bucket_is_not) {
    token_bucket bucket({.rate = 10, .burst = 10});
    const auto by_bucket = co_await burst_after_idle(bucket);
    EXPECT_TRUE(exceeds_window(by_bucket, 10, 1s));
    weir::sliding_window window({.limit = 10});
    const auto by_window = co_await burst_after_idle(window);
    EXPECT_FALSE(exceeds_window(by_window, 10, 1s));
}

WEIR_TEST(KnownBugs, aiolimiter_298_at_most_the_limit_in_any_period) {
    weir::sliding_window window({.limit = 4, .window = 2s});
    std::vector<grant> grants;
    for (int i = 0; i < 40; ++i) {
        co_await weir::sleep(std::chrono::milliseconds(i * 37 % 400));
        co_await window.acquire();
        grants.push_back({weir::now()});
    }
    EXPECT_EQ(exceeds_window(grants, 4, 2s), std::nullopt);
}

// The first in line needed more than there was; it was cancelled, and the tasks behind it, which
// needed less, were left to wait.
WEIR_TEST(KnownBugs, golang_37852_followers_that_fit_go_when_the_first_is_cancelled) {
    token_bucket bucket({.rate = 0.001, .burst = 10});
    EXPECT_TRUE(bucket.try_acquire(7));
    auto use = [&](double weight) -> task<> { co_await bucket.acquire(weight); };
    const auto large = weir::spawn(use(9));
    co_await settle_all();
    const auto second = weir::spawn(use(1));
    co_await settle_all();
    const auto third = weir::spawn(use(2));
    co_await settle_all();
    EXPECT_FALSE(second.done());
    const auto begin = weir::now();
    large.cancel();
    co_await second;
    co_await third;
    EXPECT_EQ(weir::now(), begin);
    co_await large.wait();
}

}  // namespace
