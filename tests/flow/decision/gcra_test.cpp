// SPDX-License-Identifier: MIT
// The token bucket: its bound, exact waits and no drift; used by several threads without locks it
// never grants more than the bucket allows, and no refund is lost.

#include "flow/limit/naive_limiters.hpp"
#include "flow/limit/support.hpp"
#include <support/sanitized.hpp>

#include <weir/flow/decision/fixed_window_decision.hpp>
#include <weir/flow/decision/gcra.hpp>
#include <weir/flow/decision/locked.hpp>
#include <weir/flow/decision/sliding_counter.hpp>
#include <weir/flow/decision/sliding_log.hpp>
#include <weir/flow/decision/spacing.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace limiter_tests;
using weir::decision::gcra;

using namespace weir::decision;

constexpr time_point start(1h);

TEST(Gcra, TheStateIsLockFree) {
    EXPECT_TRUE(std::atomic<gcra::limits*>::is_always_lock_free);
    EXPECT_TRUE(std::atomic<std::int64_t>::is_always_lock_free);
}

// Both threads ask with a clock of their own that the other's may be ahead of. In the end exactly
// the burst and what flowed in have passed.
TEST(Gcra, TwoThreadsGetWhatOneWould) {
    constexpr int steps = 50'000;
    gcra bucket({.rate = 1e6, .burst = 100});
    std::atomic<int> passed = 0;
    std::atomic<std::int64_t> clock = start.time_since_epoch().count();
    auto ask = [&] {
        int own = 0;
        for (int i = 0; i < steps; ++i) {
            const time_point now{duration(clock.fetch_add(100, std::memory_order_relaxed))};
            own += bucket.try_take(now).granted ? 1 : 0;
        }
        passed += own;
    };
    std::thread other(ask);
    ask();
    other.join();
    const double flowed = 100.0 * 2 * steps / 1000;
    EXPECT_LE(passed, 100 + flowed);
    EXPECT_GE(passed, flowed);
}

TEST(Gcra, AtOneMomentExactlyTheBurstPasses) {
    for (int round = 0; round < 200; ++round) {
        gcra bucket({.rate = 1, .burst = 500});
        std::atomic<int> passed = 0;
        auto ask = [&] {
            int own = 0;
            for (int i = 0; i < 400; ++i) {
                own += bucket.try_take(start).granted ? 1 : 0;
            }
            passed += own;
        };
        std::thread other(ask);
        ask();
        other.join();
        ASSERT_EQ(passed, 500);
    }
}

TEST(Gcra, RefundsAreNotLost) {
    gcra bucket({.rate = 1, .burst = 100});
    auto churn = [&] {
        for (int i = 0; i < 20'000; ++i) {
            if (bucket.try_take(start).granted) {
                bucket.give_back(start, 1, start);
            }
        }
    };
    std::thread other(churn);
    churn();
    other.join();
    EXPECT_DOUBLE_EQ(bucket.available(start), 100);
}

// While the rate changes all the time, no decision ever uses half of the old settings and half of
// the new: at one moment, no change can grant more than the bucket held.
TEST(Gcra, ChangesOfTheRateAreWhole) {
    for (int round = 0; round < 50; ++round) {
        gcra bucket({.rate = 1, .burst = 1000});
        std::atomic<bool> is_over = false;
        std::atomic<int> passed = 0;
        std::thread changer([&] {
            for (int i = 0; !is_over.load(); ++i) {
                bucket.set_rate(start, {.rate = i % 2 == 0 ? 1e5 : 3, .burst = 1000});
            }
        });
        for (int i = 0; i < 3000; ++i) {
            passed += bucket.try_take(start).granted ? 1 : 0;
        }
        is_over = true;
        changer.join();
        ASSERT_LE(passed, 1000);
        ASSERT_GE(passed, 900);
    }
}

TEST(Gcra, KeepsItsBoundAndNamesExactWaits) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        std::mt19937_64 random(seed);
        const double rate = std::pow(10.0, static_cast<double>(random() % 900) / 100 - 2);
        const double burst = static_cast<double>(100 + random() % 1000) / 100;
        const auto make = [&] {
            return std::make_unique<gcra>(gcra_limits{.rate = rate, .burst = burst});
        };
        const auto pause = duration(static_cast<std::int64_t>(1e9 / rate) + 1);
        const auto grants = names_exact_waits(random, make, pause, std::max(1.0, burst));
        ASSERT_EQ(exceeds_bucket(grants, rate, 1s, burst), std::nullopt) << "seed " << seed;
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

// Asks for one token after the other, each as early as it may pass.
template <class Decision>
time_point last_of(Decision& decision, int count) {
    time_point now = start;
    for (int i = 0; i < count; ++i) {
        for (;;) {
            const verdict answer = decision.try_take(now);
            if (answer.granted) {
                break;
            }
            now += answer.wait;
        }
    }
    return now;
}

// To a billionth, and a few nanoseconds of the clock.
void expect_no_drift(double rate, int count) {
    gcra bucket({.rate = rate, .burst = 1});
    const double seconds = std::chrono::duration<double>(last_of(bucket, count) - start).count();
    EXPECT_NEAR((count - 1) / seconds / rate, 1, 1e-9 + 3e-9 / seconds) << rate;
}

TEST(Gcra, TenMillionGrantsDoNotDrift) {
    constexpr int count = weir_test::is_sanitized ? 100'000 : 10'000'000;
    expect_no_drift(77'777, count);
    expect_no_drift(3e6, count);
    for (const double rate : {0.3, 3.0, 7.0, 1e3, 123'456'789.0, 999'999'999.0}) {
        expect_no_drift(rate, 500'000);
    }
}

TEST(Gcra, FractionsOfATokenDoNotDrift) {
    gcra bucket({.rate = 1000, .burst = 1});
    time_point now = start;
    for (int i = 0; i < 1'000'000; ++i) {
        const verdict answer = bucket.try_take(now, 0.1);
        if (!answer.granted) {
            now += answer.wait;
            EXPECT_TRUE(bucket.try_take(now, 0.1).granted);
        }
    }
    EXPECT_EQ(now - start, 100s - 1ms);  // a million tenths, less the first ten
}

}  // namespace
