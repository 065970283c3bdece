// SPDX-License-Identifier: MIT
// The random numbers of jitter: the same for a seed everywhere, and fractions below 1.

#include <weir/flow/decision/random.hpp>

#include <gtest/gtest.h>

namespace {

TEST(Random, KnownAnswersOfSplitmix64) {
    weir::decision::random_source random(1234567);
    EXPECT_EQ(random.next(), 6457827717110365317u);
    EXPECT_EQ(random.next(), 3203168211198807973u);
}

TEST(Random, FractionsAreFromZeroToBelowOne) {
    weir::decision::random_source random;
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) {
        const double fraction = random.next_fraction();
        ASSERT_GE(fraction, 0);
        ASSERT_LT(fraction, 1);
        sum += fraction;
    }
    EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
