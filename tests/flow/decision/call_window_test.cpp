// SPDX-License-Identifier: MIT
// The endings of recent calls, by count and by time.

#include <weir/flow/decision/call_window.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::decision::call_window;

constexpr weir::clock::time_point start(1h);

TEST(CallWindow, DoesNotExistByDefault) {
    EXPECT_FALSE(call_window().exists());
    EXPECT_TRUE(call_window::of_calls(1).exists());
    EXPECT_TRUE(call_window::of_time(1s, 1).exists());
}

TEST(CallWindow, CountsTheLastCalls) {
    call_window window = call_window::of_calls(3);
    EXPECT_FALSE(window.is_timed());
    window.add(true, false, {});
    window.add(false, true, {});
    window.add(true, true, {});
    EXPECT_EQ(window.seen().calls, 3u);
    EXPECT_EQ(window.seen().failures, 2u);
    EXPECT_EQ(window.seen().slow, 2u);
    window.add(false, false, {});  // replaces the first
    EXPECT_EQ(window.seen().calls, 3u);
    EXPECT_EQ(window.seen().failures, 1u);
    window.forget();
    EXPECT_EQ(window.seen().calls, 0u);
}

TEST(CallWindow, CountsTheCallsOfATime) {
    call_window window = call_window::of_time(10s, 10);
    EXPECT_TRUE(window.is_timed());
    for (int second = 0; second < 10; ++second) {
        window.add(second == 0, false, start + 1s * second);
    }
    EXPECT_EQ(window.seen().calls, 10u);
    EXPECT_EQ(window.seen().failures, 1u);
    window.pass_time(start + 10s);
    EXPECT_EQ(window.seen().calls, 9u);
    EXPECT_EQ(window.seen().failures, 0u);
    window.pass_time(start + 1h);
    EXPECT_EQ(window.seen().calls, 0u);
}

// Times near the end of the clock, where sums would overflow.
TEST(CallWindow, AWindowWithoutEndForgetsNothing) {
    constexpr auto endless = weir::clock::duration::max();
    for (const std::size_t buckets : {std::size_t{1}, std::size_t{2}, std::size_t{10}}) {
        for (const auto time : {endless, endless - 1ns, endless / 2 + 1ns}) {
            for (const auto first : {weir::clock::time_point{}, start, start - 24h}) {
                call_window window = call_window::of_time(time, buckets);
                for (int day = 0; day < 100; ++day) {
                    window.add(true, false, std::max(first, weir::clock::time_point{}) + 24h * day);
                }
                EXPECT_EQ(window.seen().calls, 100u);
                EXPECT_EQ(window.seen().failures, 100u);
            }
        }
    }
}

TEST(CallWindow, SlicesBeforeTheEpoch) {
    call_window window = call_window::of_time(10s, 10);
    const weir::clock::time_point before(-25s);
    window.add(true, false, before);
    window.add(false, false, before + 9s);
    EXPECT_EQ(window.seen().calls, 2u);
    window.pass_time(before + 10s);
    EXPECT_EQ(window.seen().calls, 1u);
    window.add(false, false, weir::clock::time_point(1s));
    EXPECT_EQ(window.seen().calls, 1u);
}

}  // namespace
