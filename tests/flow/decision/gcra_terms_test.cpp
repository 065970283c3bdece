// SPDX-License-Identifier: MIT
// The integer arithmetic of a token bucket.

#include <weir/error.hpp>
#include <weir/flow/decision/gcra_terms.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::decision::gcra_terms;

constexpr weir::clock::time_point start(1h);

TEST(GcraTerms, CountsTokensInWholeUnits) {
    const gcra_terms terms({.rate = 3, .per = 1s, .burst = 2});
    EXPECT_EQ(terms.capacity(), terms.cost(2));
    EXPECT_EQ(terms.cost(2), 2 * terms.cost(1));
    EXPECT_EQ(terms.cost(0.5) * 2, terms.cost(1));
    EXPECT_EQ(terms.tokens(terms.cost(1)), 1);
    EXPECT_EQ(terms.cost(0), gcra_terms::unaffordable);
    EXPECT_EQ(terms.cost(1e300), gcra_terms::unaffordable);
}

TEST(GcraTerms, NamesTheNanosecondAtWhichATokenHasArrived) {
    const gcra_terms terms({.rate = 4, .per = 1s, .burst = 1});
    const auto begin = terms.units_at(start);
    EXPECT_EQ(terms.time_of(begin + terms.cost(1), start), start + 250ms);
    EXPECT_EQ(terms.time_of(begin, start), start);
    EXPECT_EQ(terms.units_at(start + 250ms) - begin, terms.cost(1));
}

TEST(GcraTerms, ARefundIsReducedByTheRefill) {
    const gcra_terms terms({.rate = 1, .per = 1s, .burst = 4});
    EXPECT_EQ(terms.left_of(terms.cost(2), start, start), terms.cost(2));
    EXPECT_LT(terms.left_of(terms.cost(2), start, start + 1s), terms.cost(1) + 1);
    EXPECT_EQ(terms.left_of(terms.cost(2), start, start + 3s), 0);
}

TEST(GcraTerms, RefusesInvalidRates) {
    EXPECT_THROW(gcra_terms({.rate = 0}), weir::invalid_argument);
    EXPECT_THROW(gcra_terms({.rate = 1, .per = 0s}), weir::invalid_argument);
    EXPECT_THROW(gcra_terms({.rate = 1, .burst = -1}), weir::invalid_argument);
    EXPECT_THROW(gcra_terms({.rate = 2, .per = 1ns}), weir::invalid_argument);
}

TEST(GcraTerms, NoWeightIsFree) {
    const gcra_terms coarse({.rate = 1e9, .per = 1s, .burst = 1});
    EXPECT_EQ(coarse.cost(1), 1);
    EXPECT_EQ(coarse.cost(0.0009), 1);
    EXPECT_EQ(coarse.cost(1.0005), 2);
    EXPECT_EQ(coarse.cost(1e-300), 1);
    EXPECT_EQ(coarse.cost((0.1 + 0.2) * 10), 3);
}

TEST(GcraTerms, AChangeOfTheRateAddsNoTokens) {
    gcra_terms terms({.rate = 1e9, .per = 1s, .burst = 3});
    auto full_at = gcra_terms::after(gcra_terms::never_used, terms.units_at(start), terms.cost(3));
    for (int i = 0; i < 10'000; ++i) {
        gcra_terms changed({.rate = i % 2 == 0 ? 3e8 : 1e9, .per = 1s, .burst = 3});
        full_at = changed.take_over(terms, full_at, start);
        terms = changed;
    }
    EXPECT_EQ(full_at - terms.units_at(start), terms.capacity());  // as empty as before
}

}  // namespace
