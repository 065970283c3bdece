// SPDX-License-Identifier: MIT
// A decision behind a mutex, for several threads.

#include <weir/flow/decision/fixed_window_decision.hpp>
#include <weir/flow/decision/locked.hpp>
#include <weir/flow/decision/spacing.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace weir::decision;

constexpr weir::clock::time_point start(1h);

static_assert(limiter_decision<locked<fixed_window>>);
static_assert(is_shareable<locked<fixed_window>> && !is_shareable<fixed_window>);
static_assert(minds_completion<locked<spacing>> && !minds_completion<locked<fixed_window>>);

TEST(Locked, ThreadsTogetherGetTheLimit) {
    locked<fixed_window> window({.limit = 1000, .window = 1h});
    std::atomic<int> granted = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int tries = 0; tries < 500; ++tries) {
                granted += window.try_take(start).granted ? 1 : 0;
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_EQ(granted.load(), 1000);
}

TEST(Locked, PassesEverythingOn) {
    locked<fixed_window> window({.limit = 1, .window = 1s});
    EXPECT_EQ(window.capacity(), 1);
    EXPECT_TRUE(window.try_take(start).granted);
    window.give_back(start, 1, start);
    EXPECT_TRUE(window.try_take(start).granted);
    EXPECT_EQ(window.plan(start).grant(1), start + 1s);
    window.set_rate(start, {.limit = 2, .window = 1s});
    EXPECT_EQ(window.capacity(), 2);
    locked<spacing> pace({.interval = 1s, .from = measured_from::completion});
    EXPECT_TRUE(pace.try_take(start).granted);
    EXPECT_EQ(pace.try_take(start + 1min).wait, verdict::unforeseen);
    pace.completed(start + 1min);
    EXPECT_EQ(pace.try_take(start + 1min).wait, 1s);
}

}  // namespace
