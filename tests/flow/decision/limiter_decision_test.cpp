// SPDX-License-Identifier: MIT
// The decisions alone, under random traces: bounds, exact waits, no drift, refunds, old time stamps
// and changes of the rate.

#include "flow/limit/naive_limiters.hpp"
#include "flow/limit/support.hpp"

#include <weir/flow/decision/fixed_window_decision.hpp>
#include <weir/flow/decision/gcra.hpp>
#include <weir/flow/decision/locked.hpp>
#include <weir/flow/decision/sliding_counter.hpp>
#include <weir/flow/decision/sliding_log.hpp>
#include <weir/flow/decision/spacing.hpp>

#include <gtest/gtest.h>

namespace {

using namespace limiter_tests;
using namespace weir::decision;

constexpr time_point start(1h);

struct attempt {
    time_point at;
    double weight;
    bool granted;
};

template <class Decision, class Limits>
void check_window_decision(Limits limits, double allowed) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        std::mt19937_64 random(seed);
        limits.limit = static_cast<double>(1 + random() % 6);
        const auto make = [&] { return std::make_unique<Decision>(limits); };
        const auto grants = names_exact_waits(random, make, 200ms, limits.limit);
        ASSERT_EQ(exceeds_window(grants, limits.limit * allowed, 1s), std::nullopt)
            << "seed " << seed;
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
}

TEST(LimiterDecision, WindowsKeepTheirBoundsAndNameExactWaits) {
    check_window_decision<sliding_log>(window_limits{}, 1);
    check_window_decision<locked<sliding_log>>(window_limits{}, 1);
    check_window_decision<fixed_window>(window_limits{}, 2);
    check_window_decision<sliding_counter>(sliding_counter_limits{}, 2);
    check_window_decision<sliding_counter>(sliding_counter_limits{.strict = true}, 1);
}

TEST(LimiterDecision, DriftAndRewindingAreCaught) {
    naive::drifting_decision drifting(3e8);
    std::vector<grant> grants;
    for (time_point now = start; now < start + 1us; now += 1ns) {
        if (drifting.try_take(now)) {
            grants.push_back({now});
        }
    }
    EXPECT_TRUE(exceeds_bucket(grants, 3e8, 1s, 1));

    naive::rewinding_decision rewinding(10, 5);
    gcra steadfast({.rate = 10, .burst = 5});
    std::vector<grant> of_naive;
    std::vector<grant> of_ours;
    for (int i = 0; i < 100; ++i) {
        const time_point stamp = i % 2 == 0 ? start : start - 1s;
        if (rewinding.try_take(stamp)) {
            of_naive.push_back({start});
        }
        if (steadfast.try_take(stamp).granted) {
            of_ours.push_back({start});
        }
    }
    EXPECT_TRUE(exceeds_bucket(of_naive, 10, 1s, 5));
    EXPECT_EQ(of_ours.size(), 5u);
}

TEST(LimiterDecision, OldTimeStampsNeverLetMorePass) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        std::mt19937_64 random(seed);
        gcra bucket({.rate = 10, .burst = 3});
        sliding_log log({.limit = 3});
        fixed_window fixed({.limit = 3});
        sliding_counter counter({.limit = 3, .strict = true});
        std::vector<grant> passed[4];
        time_point latest = start;
        time_point highest = time_point::min();
        for (int i = 0; i < 60; ++i) {
            latest += duration(random() % 100'000'000);
            // The latest time counts.
            const time_point stamp =
                latest - (random() % 2 == 0 ? 0ns : duration(random() % 2'000'000'000));
            highest = std::max(highest, stamp);
            const bool granted[] = {bucket.try_take(stamp).granted, log.try_take(stamp).granted,
                                    fixed.try_take(stamp).granted, counter.try_take(stamp).granted};
            for (int each = 0; each < 4; ++each) {
                if (granted[each]) {
                    passed[each].push_back({highest});
                }
            }
        }
        ASSERT_EQ(exceeds_bucket(passed[0], 10, 1s, 3), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(passed[1], 3, 1s), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(passed[2], 6, 1s), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(passed[3], 3, 1s), std::nullopt) << "seed " << seed;
    }
}

// After any refunds the bucket holds at most what it would hold if what was given back had never
// been taken; and exactly that, if it was given back at once.
TEST(LimiterDecision, RefundsNeverMint) {
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        std::mt19937_64 random(seed);
        const bool at_once = seed % 2 == 0;
        const gcra_limits limits{.rate = 10, .burst = 6};
        gcra bucket(limits);
        std::vector<attempt> past;
        time_point now = start;
        for (int i = 0; i < 40; ++i) {
            now += duration(random() % 300'000'000);
            const double weight = static_cast<double>(1 + random() % 4);
            if (bucket.try_take(now, weight).granted) {
                past.push_back({now, weight, true});
            }
            if (!past.empty() && random() % 3 == 0) {
                attempt& chosen = at_once ? past.back() : past[random() % past.size()];
                if (chosen.granted && (!at_once || chosen.at == now)) {
                    bucket.give_back(now, chosen.weight, chosen.at);
                    chosen.granted = false;
                }
            }
            gcra without(limits);
            for (const attempt& each : past) {
                if (each.granted) {
                    ASSERT_TRUE(without.try_take(each.at, each.weight).granted);
                }
            }
            ASSERT_LE(bucket.available(now), without.available(now) + 1e-9) << "seed " << seed;
            if (at_once) {
                ASSERT_DOUBLE_EQ(bucket.available(now), without.available(now)) << "seed " << seed;
            }
        }
    }
}

TEST(LimiterDecision, WindowsTakeBackWhatTheyStillRemember) {
    sliding_log log({.limit = 3});
    EXPECT_TRUE(log.try_take(start).granted);
    EXPECT_TRUE(log.try_take(start + 100ms, 2).granted);
    EXPECT_FALSE(log.try_take(start + 200ms).granted);
    log.give_back(start + 200ms, 2, start + 100ms);
    log.give_back(start + 200ms, 2, start + 100ms);  // once too often: nothing is left of it
    EXPECT_DOUBLE_EQ(log.available(start + 200ms), 2);
    EXPECT_EQ(log.size(), 1u);
    fixed_window fixed({.limit = 3});
    EXPECT_TRUE(fixed.try_take(start, 3).granted);
    fixed.give_back(start + 500ms, 2, start);
    EXPECT_DOUBLE_EQ(fixed.available(start + 500ms), 2);
    fixed.give_back(start + 1500ms, 5, start);
    EXPECT_DOUBLE_EQ(fixed.available(start + 1500ms), 3);
    spacing pace({100ms});
    EXPECT_TRUE(pace.try_take(start).granted);
    pace.give_back(start, 1, start);
    EXPECT_TRUE(pace.try_take(start).granted);
}

// The bucket never holds more after a change than before it, and then fills at the new rate.
TEST(LimiterDecision, AChangeOfTheRateBringsNoBurst) {
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        std::mt19937_64 random(seed);
        const auto some = [&] {
            return gcra_limits{.rate = static_cast<double>(1 + random() % 2000) / 7,
                               .burst = static_cast<double>(1 + random() % 20)};
        };
        gcra_limits limits = some();
        gcra bucket(limits);
        time_point now = start;
        for (int i = 0; i < 30; ++i) {
            now += duration(random() % 100'000'000);
            const double before = bucket.available(now);
            ASSERT_LE(before, limits.burst);
            if (random() % 4 == 0) {
                limits = some();
                bucket.set_rate(now, limits);
                ASSERT_NEAR(bucket.available(now), std::min(before, limits.burst), 1e-3);
                ASSERT_LE(bucket.available(now), before);
                const double later = bucket.available(now + 10ms);
                ASSERT_NEAR(
                    later, std::min(limits.burst, bucket.available(now) + limits.rate / 100), 1e-3);
            } else {
                bucket.try_take(now, static_cast<double>(1 + random() % 3));
            }
        }
    }
}

TEST(LimiterDecision, ExtremesAreSafe) {
    for (const time_point now : {time_point::min(), time_point(0ns), start, time_point::max()}) {
        gcra bucket({.rate = 1e9, .burst = 1});
        EXPECT_TRUE(bucket.try_take(now).granted);
        EXPECT_FALSE(bucket.try_take(now, 2).granted);
        EXPECT_EQ(bucket.try_take(now, 2).wait, weir::refusal::never);
        EXPECT_FALSE(bucket.try_take(now, -1).granted);
        EXPECT_FALSE(bucket.try_take(now, std::nan("")).granted);
        EXPECT_FALSE(bucket.try_take(now, 1e300).granted);
    }
    gcra slow({.rate = 1, .per = std::chrono::hours(24 * 365), .burst = 5});
    EXPECT_TRUE(slow.try_take(start, 5).granted);
    const duration wait = slow.try_take(start).wait;
    EXPECT_LE(std::chrono::abs(wait - std::chrono::hours(24 * 365)), 3ns);
    EXPECT_FALSE(slow.try_take(start + wait - 1ns).granted);
    EXPECT_TRUE(slow.try_take(start + wait).granted);
}

}  // namespace
