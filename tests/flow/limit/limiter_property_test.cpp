// SPDX-License-Identifier: MIT
// Limiters under random traffic with random cancellation: all grants are, to the nanosecond, those
// of a simple model. This covers all properties: never above the limit, never below what it allows,
// in order, no drift, and cancelled waiters change nothing.

#include "naive_limiters.hpp"
#include "support.hpp"

#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>

namespace {

using namespace limiter_tests;
using weir::task;

constexpr int traces = 1500;

TEST(LimiterProperty, TokenBucketIsItsModel) {
    is_token_bucket(traces, [](double rate, double burst) {
        return std::make_unique<weir::token_bucket>(
            weir::token_bucket_options{.rate = rate, .burst = burst});
    });
}

TEST(LimiterProperty, SlidingWindowIsItsModel) {
    is_sliding_window(traces, [](double limit) {
        return std::make_unique<weir::sliding_window>(weir::sliding_window_options{.limit = limit});
    });
}

TEST(LimiterProperty, FixedWindowIsItsModel) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 8);
        const auto traffic = random_traffic(random, 50, 200ms, limit, random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::fixed_window window({.limit = limit});
            expected = foresee(fixed_model(limit, 1s), weir::now(), traffic);
            auto seen = co_await play(window, traffic);
            co_return seen;
        });
        ASSERT_EQ(differs(grants, expected), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(grants, 2 * limit, 1s), std::nullopt);
    }
}

TEST(LimiterProperty, LeakyBucketIsItsModel) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        const auto traffic = random_traffic(random, 50, 100ms, 3, random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::leaky_bucket bucket({.interval = 100ms});
            expected = foresee(spacing_model(100ms), weir::now(), traffic);
            auto seen = co_await play(bucket, traffic);
            co_return seen;
        });
        ASSERT_EQ(differs(grants, expected), std::nullopt) << "seed " << seed;
    }
}

TEST(LimiterProperty, SlidingCounterKeepsItsBounds) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 8);
        const bool strict = random() % 2 == 0;
        const auto traffic = random_traffic(random, 50, 200ms, limit, random() % 2 == 0, 5);
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::sliding_window_counter window({.limit = limit, .strict = strict});
            auto seen = co_await play(window, traffic);
            EXPECT_EQ(window.stats().granted, seen.size());
            co_return seen;
        });
        ASSERT_EQ(exceeds_window(grants, strict ? limit : 2 * limit, 1s), std::nullopt)
            << "seed " << seed;
        ASSERT_EQ(out_of_order(grants), std::nullopt) << "seed " << seed;
    }
}

// ---- the properties have teeth

template <class Naive, class Check>
bool is_caught(const auto& make, double most, Check check) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        const auto traffic = random_traffic(random, 60, 50ms, most, false, 0);
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            Naive limiter = make();
            auto seen = co_await play(limiter, traffic);
            co_return seen;
        });
        if (check(grants)) {
            return true;
        }
    }
    return false;
}

TEST(LimiterProperty, CatchesABucketThatSleepsOnce) {
    EXPECT_TRUE(is_caught<naive::sleeps_once_bucket>(
        [] { return naive::sleeps_once_bucket(10, 2); }, 1,
        [](const auto& grants) { return exceeds_bucket(grants, 10, 1s, 2).has_value(); }));
}

TEST(LimiterProperty, CatchesABucketThatWakesAll) {
    EXPECT_TRUE(is_caught<naive::all_wake_bucket>(
        [] { return naive::all_wake_bucket(10, 5); }, 5,
        [](const auto& grants) { return out_of_order(grants).has_value(); }));
}

TEST(LimiterProperty, CatchesAWindowThatAppendsUnchecked) {
    EXPECT_TRUE(is_caught<naive::appends_unchecked_window>(
        [] { return naive::appends_unchecked_window(3, 1s); }, 1,
        [](const auto& grants) { return exceeds_window(grants, 3, 1s).has_value(); }));
}

}  // namespace
