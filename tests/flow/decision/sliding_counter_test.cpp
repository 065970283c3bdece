// SPDX-License-Identifier: MIT
// The sliding window over two counters.

#include <weir/flow/decision/sliding_counter.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::decision::sliding_counter;

constexpr weir::clock::time_point start(1h);

TEST(SlidingCounter, WeighsThePreviousStretchByItsOverlap) {
    sliding_counter window({.limit = 10, .window = 10s});
    EXPECT_TRUE(window.try_take(start, 10).granted);
    EXPECT_FALSE(window.try_take(start + 10s).granted);
    // Half of the stretch before counts in the middle of the next.
    EXPECT_TRUE(window.try_take(start + 15s, 5).granted);
    EXPECT_FALSE(window.try_take(start + 15s).granted);
}

TEST(SlidingCounter, StrictCountsThePreviousStretchInFull) {
    sliding_counter window({.limit = 10, .window = 10s, .strict = true});
    EXPECT_TRUE(window.try_take(start, 10).granted);
    EXPECT_FALSE(window.try_take(start + 15s).granted);
    EXPECT_TRUE(window.try_take(start + 20s, 10).granted);
}

TEST(SlidingCounter, NamesItsWait) {
    sliding_counter window({.limit = 10, .window = 10s});
    EXPECT_TRUE(window.try_take(start, 10).granted);
    const auto refused = window.try_take(start, 5);
    ASSERT_FALSE(refused.granted);
    EXPECT_EQ(refused.wait, 15s);
    EXPECT_TRUE(window.try_take(start + refused.wait, 5).granted);
    EXPECT_EQ(window.try_take(start, 11).wait, weir::refusal::never);
}

}  // namespace
