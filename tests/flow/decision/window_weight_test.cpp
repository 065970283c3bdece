// SPDX-License-Identifier: MIT
// Weights in millionths, and the limits of windows.

#include <weir/error.hpp>
#include <weir/flow/decision/window_weight.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace std::chrono_literals;
using namespace weir::decision;

TEST(WindowWeight, RoundsUpToMillionths) {
    EXPECT_EQ(in_millionths(1), 1'000'000);
    EXPECT_EQ(in_millionths(0.1), 100'000);
    EXPECT_EQ(in_millionths(0.0000001), 1);
    EXPECT_EQ(in_millionths(0), too_much_weight);
    EXPECT_EQ(in_millionths(-1), too_much_weight);
    EXPECT_EQ(in_millionths(std::numeric_limits<double>::quiet_NaN()), too_much_weight);
    EXPECT_EQ(in_millionths(1e300), too_much_weight);
}

TEST(WindowWeight, RefusesInvalidLimits) {
    check_window("window", {.limit = 1, .window = 1s});
    EXPECT_THROW(check_window("window", {.limit = 0, .window = 1s}), weir::invalid_argument);
    EXPECT_THROW(check_window("window", {.limit = 2e9, .window = 1s}), weir::invalid_argument);
    EXPECT_THROW(check_window("window", {.limit = 1, .window = 0s}), weir::invalid_argument);
}

TEST(WindowWeight, NoWeightIsFree) {
    EXPECT_EQ(in_millionths(9e-10), 1);
    EXPECT_EQ(in_millionths(1e-300), 1);
    EXPECT_EQ(in_millionths(0.000'001'000'5), 2);
    EXPECT_EQ(in_millionths(0.1 + 0.2), 300'000);
}

}  // namespace
