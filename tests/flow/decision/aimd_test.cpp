// SPDX-License-Identifier: MIT
// Additive increase, multiplicative decrease, by example.

#include <weir/flow/decision/aimd.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::decision::aimd;
using weir::decision::limit_sample;

constexpr weir::clock::time_point start(1h);

limit_sample call(weir::clock::duration begun, weir::clock::duration took, std::size_t in_flight,
                  bool dropped = false) {
    return {start + begun, start + begun + took, in_flight, dropped};
}

TEST(Aimd, GrowsByOneForEachLimitOfGoodCalls) {
    aimd limit({.initial = 10, .least = 1, .most = 20, .backoff = 0.5, .latency_limit = {}});
    for (int i = 0; i < 11; ++i) {
        EXPECT_FALSE(limit.add(call(1s * i, 10ms, 10)));
    }
    EXPECT_EQ(limit.limit(), 11u);
    for (int i = 0; i < 1000; ++i) {
        limit.add(call(1min + 1s * i, 10ms, 20));
    }
    EXPECT_EQ(limit.limit(), 20u);
}

TEST(Aimd, DoesNotGrowWhileLessThanHalfIsInUse) {
    aimd limit({.initial = 10, .least = 1, .most = 20, .backoff = 0.5, .latency_limit = {}});
    for (int i = 0; i < 1000; ++i) {
        limit.add(call(1s * i, 10ms, 4));
    }
    EXPECT_EQ(limit.limit(), 10u);
}

TEST(Aimd, ShrinksOncePerOverload) {
    aimd limit({.initial = 16, .least = 3, .most = 20, .backoff = 0.5, .latency_limit = {}});
    EXPECT_TRUE(limit.add(call(0s, 1s, 16, true)));
    EXPECT_FALSE(limit.add(call(500ms, 1s, 16, true)));  // began before the decrease
    EXPECT_EQ(limit.limit(), 8u);
    EXPECT_TRUE(limit.add(call(2s, 1s, 8, true)));
    EXPECT_TRUE(limit.add(call(4s, 1s, 4, true)));
    EXPECT_EQ(limit.limit(), 3u);
}

TEST(Aimd, SlowCallsCountAsDropped) {
    aimd limit({.initial = 10, .least = 1, .most = 20, .backoff = 0.5, .latency_limit = 100ms});
    EXPECT_FALSE(limit.add(call(0s, 100ms, 1)));
    EXPECT_TRUE(limit.add(call(1s, 101ms, 1)));
    EXPECT_EQ(limit.limit(), 5u);
}

}  // namespace
