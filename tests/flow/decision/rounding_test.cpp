// SPDX-License-Identifier: MIT
// Every positive amount counts, and errors of the arithmetic do not.

#include <weir/flow/decision/rounding.hpp>

#include <gtest/gtest.h>

namespace {

using weir::decision::rounded_up;

TEST(Rounding, IsUpwards) {
    EXPECT_EQ(rounded_up(3), 3);
    EXPECT_EQ(rounded_up(3.5), 4);
    EXPECT_EQ(rounded_up(3.0005), 4);
    EXPECT_EQ(rounded_up(3.000'000'1), 4);
}

TEST(Rounding, NoPositiveAmountIsFree) {
    EXPECT_EQ(rounded_up(0), 0);
    EXPECT_EQ(rounded_up(0.000'9), 1);
    EXPECT_EQ(rounded_up(1e-300), 1);
}

TEST(Rounding, ErrorsOfTheArithmeticDoNotCount) {
    EXPECT_EQ(rounded_up((0.1 + 0.2) * 10), 3);
    double sum = 0;
    for (int i = 0; i < 1000; ++i) {
        sum += 0.7;
    }
    EXPECT_EQ(rounded_up(sum), 700);
    EXPECT_EQ(rounded_up(0.29 * 100), 29);
}

TEST(Rounding, LargeAmountsKeepTheirValue) {
    EXPECT_EQ(rounded_up(1e15), 1'000'000'000'000'000);
    EXPECT_EQ(rounded_up(4.6e18), 4'600'000'000'000'000'000);
}

}  // namespace
