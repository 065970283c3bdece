// SPDX-License-Identifier: MIT
// The strict sliding window.

#include <weir/error.hpp>
#include <weir/flow/decision/sliding_log.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::decision::sliding_log;

constexpr weir::clock::time_point start(1h);

TEST(SlidingLog, AGrantLeavesTheWindowToTheNanosecond) {
    sliding_log window({.limit = 2, .window = 1s});
    EXPECT_TRUE(window.try_take(start).granted);
    EXPECT_TRUE(window.try_take(start + 400ms).granted);
    const auto refused = window.try_take(start + 500ms);
    EXPECT_FALSE(refused.granted);
    EXPECT_EQ(refused.wait, 500ms);
    EXPECT_FALSE(window.try_take(start + 1s - 1ns).granted);
    EXPECT_TRUE(window.try_take(start + 1s).granted);
}

TEST(SlidingLog, GrantsOfOneMomentShareAnEntry) {
    sliding_log window({.limit = 10, .window = 1s});
    window.try_take(start);
    window.try_take(start);
    EXPECT_EQ(window.size(), 1u);
    window.try_take(start + 1ms);
    EXPECT_EQ(window.size(), 2u);
    EXPECT_EQ(window.available(start + 1ms), 7);
}

TEST(SlidingLog, PlansALineOfWaiters) {
    sliding_log window({.limit = 1, .window = 1s});
    window.try_take(start);
    auto plan = window.plan(start);
    EXPECT_EQ(plan.grant(1), start + 1s);
    EXPECT_EQ(plan.grant(1), start + 2s);
}

TEST(SlidingLog, RefusesInvalidLimits) {
    EXPECT_THROW(sliding_log({.limit = 0}), weir::invalid_argument);
    EXPECT_THROW(sliding_log({.limit = 1, .window = 0s}), weir::invalid_argument);
}

}  // namespace
