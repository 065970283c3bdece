// SPDX-License-Identifier: MIT
// The rate of a key in ticks: rounding, and rates that are refused.

#include "flow/keyed/keyed_property.hpp"
#include "flow/keyed/naive_keyed.hpp"

#include <weir/error.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace keyed_tests;
using weir::invalid_argument;

TEST(Pace, RefusesInvalidRates) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {0.0, -1.0, infinity, nan, 1e18}) {
        EXPECT_THROW(pace({.rate = bad}, "test"), invalid_argument) << bad;
    }
    for (const double bad : {0.0, 0.5, -1.0, infinity, nan, 1e18}) {
        EXPECT_THROW(pace({.rate = 1, .burst = bad}, "test"), invalid_argument) << bad;
    }
    EXPECT_THROW(pace({.rate = 1, .per = 0s}, "test"), invalid_argument);
    EXPECT_THROW(pace({.rate = 1, .per = -1s}, "test"), invalid_argument);
    try {
        pace({.rate = -2}, "clients");
    } catch (const invalid_argument& error) {
        EXPECT_STREQ(error.what(), "clients: rate is -2; it must be a finite number above 0");
    }
}

}  // namespace
