// SPDX-License-Identifier: MIT
// How long a driver waits, and when it spins before.

#include "base/wait_pacing.hpp"

#include "base/brief_spin.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace {

using weir::detail::brief_spin;
using weir::detail::monotonic_nanoseconds;
using weir::detail::wait_pacing;

constexpr std::int64_t microsecond = 1000;
constexpr std::int64_t second = 1'000'000'000;

TEST(WaitPacing, ALoneTimerIsNotDelayed) {
    const wait_pacing fresh;
    EXPECT_EQ(fresh.pause_until(0), 0);
    EXPECT_EQ(fresh.pause_until(weir::driver::forever), wait_pacing::for_ever);
    const std::int64_t now = monotonic_nanoseconds();
    EXPECT_EQ(fresh.pause_until(now), 0) << "it is over";
    EXPECT_EQ(fresh.pause_until(1), 0);
    EXPECT_LE(fresh.pause_until(now + 50 * microsecond), 50 * microsecond);
    const std::int64_t pause = fresh.pause_until(now + 100 * second);
    EXPECT_LE(pause, 100 * second);
    EXPECT_GT(pause, 50 * second);
}

TEST(WaitPacing, TimersThatFollowEachOtherAreSpaced) {
    wait_pacing storm;
    std::int64_t longest = 0;
    for (int attempt = 0; attempt < 100 && longest < 100 * microsecond; ++attempt) {
        storm.timer_woke();
        longest = storm.pause_until(monotonic_nanoseconds() + 20 * microsecond);
        EXPECT_LE(longest, 200 * microsecond);
    }
    EXPECT_GE(longest, 100 * microsecond);
    storm.timer_woke();
    EXPECT_EQ(storm.pause_until(0), 0);
    EXPECT_EQ(storm.pause_until(1), 0) << "what is overdue does not wait";
    EXPECT_EQ(storm.pause_until(weir::driver::forever), wait_pacing::for_ever);
    // The storm is over.
    std::this_thread::sleep_for(std::chrono::microseconds(250));
    EXPECT_LE(storm.pause_until(monotonic_nanoseconds() + 20 * microsecond), 20 * microsecond);
}

TEST(BriefSpin, IsTriedLessAndLessOftenWhereItFails) {
    if (std::thread::hardware_concurrency() < 2) {
        EXPECT_FALSE(brief_spin().is_due());
        return;
    }
    brief_spin spin;
    const auto waits_between = [&] {
        int count = 0;
        while (!spin.is_due()) {
            ++count;
        }
        return count;
    };
    EXPECT_EQ(waits_between(), 0);
    for (int expected = 1; expected <= 4096; expected *= 2) {
        EXPECT_FALSE(spin.until([] { return false; }, INT64_MAX));
        EXPECT_EQ(waits_between(), std::min(expected, 1024));
    }
    // Success makes it more frequent again.
    EXPECT_TRUE(spin.until([] { return true; }, INT64_MAX));
    EXPECT_EQ(waits_between(), 0);
    EXPECT_FALSE(spin.until([] { return false; }, INT64_MAX));
    EXPECT_EQ(waits_between(), 512);
    for (int round = 0; round < 20; ++round) {
        EXPECT_TRUE(spin.until([] { return true; }, INT64_MAX));
    }
    EXPECT_FALSE(spin.until([] { return false; }, INT64_MAX));
    EXPECT_EQ(waits_between(), 1);
}

TEST(BriefSpin, EndsInTime) {
    brief_spin spin;
    int calls = 0;
    EXPECT_FALSE(spin.until([&] { return ++calls < 0; }, 0));
    EXPECT_EQ(calls, 1) << "one look, whatever the limit";
    EXPECT_TRUE(spin.until([&] { return ++calls == 3; }, INT64_MAX));
    EXPECT_EQ(calls, 3) << "it stops at once when it is ready";
    std::int64_t shortest = second;
    for (int round = 0; round < 20; ++round) {
        const std::int64_t begin = monotonic_nanoseconds();
        EXPECT_FALSE(spin.until([] { return false; }, INT64_MAX));
        shortest = std::min(shortest, monotonic_nanoseconds() - begin);
    }
    EXPECT_GE(shortest, 15 * microsecond);
    EXPECT_LE(shortest, second / 10);
}

}  // namespace
