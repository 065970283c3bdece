// SPDX-License-Identifier: MIT
// The pace of a pool's connects after failures.

#include <weir/flow/detail/connect_backoff.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::clock;
using weir::detail::connect_backoff;

TEST(ConnectBackoff, DoublesUpToTheLongestDelay) {
    weir::pool_options options;
    options.connect_backoff = 100ms;
    options.max_connect_backoff = 300ms;
    connect_backoff backoff(options);
    const clock::time_point now{};
    EXPECT_FALSE(backoff.is_failing());
    backoff.failed(now);
    EXPECT_EQ(backoff.next_connect(), now + 100ms);
    backoff.failed(now);
    EXPECT_EQ(backoff.next_connect(), now + 200ms);
    backoff.failed(now);
    EXPECT_EQ(backoff.next_connect(), now + 300ms);
    EXPECT_EQ(backoff.failures(), 3u);
    backoff.succeeded();
    EXPECT_FALSE(backoff.is_failing());
    backoff.failed(now);
    EXPECT_EQ(backoff.next_connect(), now + 100ms);
}

TEST(ConnectBackoff, ObjectsMadeAheadWaitASecondAtLeast) {
    weir::pool_options options;
    options.max_connect_backoff = 30s;
    connect_backoff backoff(options);
    const clock::time_point now{};
    backoff.failed(now);
    EXPECT_EQ(backoff.next_connect(), now);
    EXPECT_EQ(backoff.next_refill(), now + 1s);
    backoff.failed(now);
    EXPECT_EQ(backoff.next_refill(), now + 2s);
}

}  // namespace
