// SPDX-License-Identifier: MIT
// Which time limit of a transfer expires first.

#include "http/transfer/time_limits.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace {

using namespace std::chrono_literals;
using weir::clock;
using weir::http::detail::request_limits;
using weir::http::detail::time_limits;
using limit = weir::http::request_timed_out::limit;

const clock::time_point start = clock::time_point() + 1h;

TEST(TimeLimits, StallRestartsWithEveryActivity) {
    time_limits limits;
    limits.begin({.total = start + 10s, .connect = 3s, .stall = 2s}, start);
    EXPECT_EQ(limits.next(), start + 2s);
    EXPECT_EQ(limits.expired(start + 1s), std::nullopt);
    EXPECT_EQ(limits.expired(start + 2s), limit::stall);
    limits.note_activity(start + 1s);
    EXPECT_EQ(limits.next(), start + 3s);
    EXPECT_EQ(limits.expired(start + 2s), std::nullopt);
}

TEST(TimeLimits, ConnectingIsLimitedOnceForAllAddresses) {
    time_limits limits;
    limits.begin({.total = start + 10s, .connect = 3s, .stall = 100s}, start);
    EXPECT_EQ(limits.expired(start + 5s), std::nullopt);
    EXPECT_TRUE(limits.begin_connecting(start + 1s));
    EXPECT_FALSE(limits.begin_connecting(start + 3s));
    EXPECT_EQ(limits.next(), start + 4s);
    EXPECT_EQ(limits.expired(start + 4s), limit::connect);
    limits.end_connecting(start + 2s);
    EXPECT_EQ(limits.expired(start + 4s), std::nullopt);
}

TEST(TimeLimits, TheTotalLimitTakesPrecedence) {
    time_limits limits;
    limits.begin({.total = start + 1s, .connect = 1s, .stall = 1s}, start);
    EXPECT_EQ(limits.expired(start + 1s), limit::total);
}

TEST(TimeLimits, TheLongestDurationIsNoLimit) {
    time_limits limits;
    limits.begin({.total = clock::time_point::max(),
                  .connect = clock::duration::max(),
                  .stall = clock::duration::max()},
                 start);
    limits.begin_connecting(start);
    EXPECT_EQ(limits.next(), clock::time_point::max());
    EXPECT_EQ(limits.expired(start + 10'000h), std::nullopt);
}

}  // namespace
