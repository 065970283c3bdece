// SPDX-License-Identifier: MIT
#include <weir/base/random.hpp>

#include <gtest/gtest.h>

#include <array>

namespace {

using weir::detail::random_source;

TEST(Random, GivesTheNumbersOfSplitmix64) {
    random_source source(1234567);
    EXPECT_EQ(source.next(), 6457827717110365317u);
    EXPECT_EQ(source.next(), 3203168211198807973u);
    EXPECT_EQ(source.next(), 9817491932198370423u);
}

TEST(Random, EqualSeedsGiveEqualNumbers) {
    random_source one(42);
    random_source other(42);
    random_source third(43);
    const std::uint64_t first = one.next();
    EXPECT_EQ(first, other.next());
    EXPECT_NE(first, third.next());
}

TEST(Random, NumbersBelowAnEndReachAllOfThem) {
    random_source source(7);
    std::array<int, 5> seen{};
    for (int draw = 0; draw < 1000; ++draw) {
        const std::uint64_t number = source.next_below(seen.size());
        ASSERT_LT(number, seen.size());
        ++seen[number];
    }
    for (const int times : seen) {
        EXPECT_GT(times, 120);
        EXPECT_LT(times, 280);
    }
}

TEST(Random, FractionsAreFromZeroToBelowOne) {
    random_source source(7);
    double sum = 0;
    for (int draw = 0; draw < 1000; ++draw) {
        const double fraction = source.next_fraction();
        ASSERT_GE(fraction, 0.0);
        ASSERT_LT(fraction, 1.0);
        sum += fraction;
    }
    EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

}  // namespace
