// SPDX-License-Identifier: MIT
// The fixed window decides without waiting.

#include <weir/flow/decision/fixed_window_decision.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;

constexpr weir::clock::time_point start(1h);

TEST(FixedWindowDecision, GrantsTheLimitInEachWindow) {
    weir::decision::fixed_window window({.limit = 2, .window = 10s});
    EXPECT_TRUE(window.try_take(start).granted);
    EXPECT_TRUE(window.try_take(start + 9s).granted);
    const auto refused = window.try_take(start + 9s);
    EXPECT_FALSE(refused.granted);
    EXPECT_EQ(refused.wait, 1s);
    EXPECT_TRUE(window.try_take(start + 10s, 2).granted);
    EXPECT_EQ(window.available(start + 10s), 0);
}

TEST(FixedWindowDecision, NeverGrantsMoreThanTheLimitAtOnce) {
    weir::decision::fixed_window window({.limit = 2, .window = 10s});
    EXPECT_EQ(window.capacity(), 2);
    EXPECT_EQ(window.try_take(start, 2.5).wait, weir::refusal::never);
}

TEST(FixedWindowDecision, GivesBackWithinTheWindowOnly) {
    weir::decision::fixed_window window({.limit = 1, .window = 10s});
    EXPECT_TRUE(window.try_take(start).granted);
    window.give_back(start + 1s, 1, start);
    EXPECT_TRUE(window.try_take(start + 1s).granted);
    EXPECT_TRUE(window.try_take(start + 10s).granted);
    window.give_back(start + 11s, 1, start);  // of the window before
    EXPECT_FALSE(window.try_take(start + 11s).granted);
}

}  // namespace
