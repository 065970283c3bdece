// SPDX-License-Identifier: MIT
// One token bucket for several threads: no locks, never more than the bucket allows, nothing lost.

#include "support.hpp"

#include <weir/flow/decision/gcra.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace limiter_tests;
using weir::decision::gcra;

constexpr time_point start(1h);

TEST(LimiterThreads, TheStateIsLockFree) {
    EXPECT_TRUE(std::atomic<gcra::limits*>::is_always_lock_free);
    EXPECT_TRUE(std::atomic<std::int64_t>::is_always_lock_free);
}

// Both threads ask with a clock of their own that the other's may be ahead of. In the end exactly
// the burst and what flowed in have passed.
TEST(LimiterThreads, TwoThreadsGetWhatOneWould) {
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

TEST(LimiterThreads, AtOneMomentExactlyTheBurstPasses) {
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

TEST(LimiterThreads, RefundsAreNotLost) {
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

// While the rate changes all the time, nobody ever decides by half of the old terms and half of the
// new: at one moment, no change can bring more than was there.
TEST(LimiterThreads, ChangesOfTheRateAreWhole) {
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

}  // namespace
