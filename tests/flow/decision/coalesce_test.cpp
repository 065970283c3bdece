// SPDX-License-Identifier: MIT
// When debounced and throttled calls lead to a run.

#include <weir/flow/decision/coalesce.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::decision::debounce;
using weir::decision::throttle;

constexpr weir::clock::time_point start(1h);
constexpr auto never = weir::clock::time_point::max();
constexpr auto at_once = weir::clock::time_point::min();

TEST(Coalesce, DebounceRunsAfterAPause) {
    debounce calls({.delay = 1s});
    EXPECT_EQ(calls.due(), never);
    EXPECT_TRUE(calls.call(start));
    EXPECT_TRUE(calls.call(start + 500ms));
    EXPECT_EQ(calls.due(), start + 1500ms);
    calls.start(start + 1500ms);
    EXPECT_FALSE(calls.is_pending());
}

TEST(Coalesce, DebounceBoundsTheWaitOfTheFirstCall) {
    debounce calls({.delay = 1s, .max_wait = 2s});
    for (auto time = start; time < start + 3s; time += 500ms) {
        calls.call(time);
    }
    EXPECT_EQ(calls.due(), start + 2s);
}

TEST(Coalesce, DebounceMayRunAtTheBeginningOnly) {
    debounce calls({.delay = 1s, .leading = true, .trailing = false});
    EXPECT_TRUE(calls.call(start));
    EXPECT_EQ(calls.due(), at_once);
    calls.start(start);
    EXPECT_FALSE(calls.call(start + 100ms));
    EXPECT_TRUE(calls.call(start + 1100ms));
}

TEST(Coalesce, DebounceIsFlushedAndCancelled) {
    debounce calls({.delay = 1s});
    calls.call(start);
    calls.flush();
    EXPECT_EQ(calls.due(), at_once);
    calls.cancel();
    EXPECT_EQ(calls.due(), never);
}

TEST(Coalesce, ThrottleRunsOncePerInterval) {
    throttle calls({.interval = 1s});
    EXPECT_TRUE(calls.call(start));
    EXPECT_EQ(calls.due(), at_once);
    calls.start(start);
    EXPECT_TRUE(calls.call(start + 300ms));
    EXPECT_EQ(calls.due(), start + 1s);
    calls.start(start + 1s);
    EXPECT_TRUE(calls.call(start + 3s));
    EXPECT_EQ(calls.due(), at_once);
}

TEST(Coalesce, ThrottleWithoutTrailingDropsCallsWithinTheInterval) {
    throttle calls({.interval = 1s, .trailing = false});
    calls.call(start);
    calls.start(start);
    EXPECT_FALSE(calls.call(start + 300ms));
    EXPECT_EQ(calls.due(), never);
}

}  // namespace
