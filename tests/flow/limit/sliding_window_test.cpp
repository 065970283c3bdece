// SPDX-License-Identifier: MIT
// The sliding windows by example.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/flow/decision/locked.hpp>
#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace limiter_tests;
using weir::task;
using weir::testing::settle_all;

static_assert(weir::waiting_gate<weir::sliding_window>);
static_assert(weir::waiting_gate<weir::sliding_window_counter>);
static_assert(weir::waiting_gate<weir::fixed_window>);
static_assert(weir::waiting_gate<weir::leaky_bucket>);

using namespace std::chrono_literals;

static_assert(std::is_trivially_destructible_v<weir::sliding_window_options>);
static_assert(std::is_trivially_destructible_v<weir::sliding_window_counter_options>);
static_assert(std::is_trivially_destructible_v<weir::fixed_window_options>);
static_assert(std::is_trivially_destructible_v<weir::leaky_bucket_options>);

WEIR_TEST(SlidingWindow, ServesInOrderAsOldGrantsLeave) {
    weir::sliding_window window({.limit = 3});
    const auto begin = weir::now();
    std::vector<duration> times;
    for (int i = 0; i < 8; ++i) {
        co_await window.acquire();
        times.push_back(weir::now() - begin);
        co_await weir::sleep(100ms);
    }
    const std::vector<duration> expected = {0ms,    100ms,  200ms,  1000ms,
                                            1100ms, 1200ms, 2000ms, 2100ms};
    EXPECT_EQ(times, expected);
}

WEIR_TEST(SlidingWindow, RetryAfterKnowsTheLine) {
    weir::sliding_window window({.limit = 2});
    EXPECT_TRUE(window.try_acquire(2));
    std::vector<weir::handle<void>> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(weir::spawn([&]() -> task<> { co_await window.acquire(); }));
    }
    co_await settle_all();
    EXPECT_EQ(window.retry_after(), 2s);   // two go in a second; it is the second of the next two
    EXPECT_EQ(window.retry_after(2), 3s);  // and these do not fit beside the third
    for (const auto& each : waiting) {
        co_await each;
    }
}

WEIR_TEST(SlidingWindowCounter, WeighsTheStretchBefore) {
    weir::sliding_window_counter window({.limit = 10, .window = 10s});
    EXPECT_TRUE(window.try_acquire(10));
    co_await weir::sleep(15s);  // half of the ten still count
    EXPECT_TRUE(window.try_acquire(5));
    const auto refused = window.try_acquire();
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().retry_after, 1s);
}

constexpr double infinite = std::numeric_limits<double>::infinity();

template <class Options>
std::string complaint(const Options& options) {
    try {
        const typename Options::policy_type made(options);
        return "none";
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
}

template <class Options>
void check_window_options(const std::string& name) {
    for (const double bad : {-1.0, 0.0, infinite, std::nan(""), 1e10}) {
        EXPECT_NE(complaint(Options{.limit = bad}).find(name + ": limit is"), std::string::npos);
    }
    for (const auto bad : {-1ns, 0ns, weir::clock::duration::max()}) {
        EXPECT_NE(complaint(Options{.limit = 1, .window = bad}).find(name + ": window is"),
                  std::string::npos);
    }
    EXPECT_EQ(complaint(Options{.limit = 0.5, .window = 1ns}), "none");
}

TEST(SlidingWindow, RefusesInvalidOptions) {
    check_window_options<weir::sliding_window_options>("sliding_window");
    check_window_options<weir::sliding_window_counter_options>("sliding_window_counter");
    check_window_options<weir::fixed_window_options>("fixed_window");
}

WEIR_TEST(SlidingWindow, NoWeightIsFree) {
    weir::sliding_window window({.limit = 0.01});
    weir::sliding_window_counter counter({.limit = 0.01});
    weir::fixed_window fixed({.limit = 0.01});
    const auto passes = [](auto& limiter, double weight) {
        int count = 0;
        while (count < 20'000 && limiter.try_acquire(weight)) {
            ++count;
        }
        return count;
    };
    EXPECT_EQ(passes(window, 9e-10), 10'000);  // a millionth each
    EXPECT_EQ(passes(counter, 9e-10), 10'000);
    EXPECT_EQ(passes(fixed, 9e-10), 10'000);
    co_return;
}

}  // namespace
