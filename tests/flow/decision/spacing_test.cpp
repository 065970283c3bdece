// SPDX-License-Identifier: MIT
// Spacing: the waits that it names are exact.

#include "flow/limit/naive_limiters.hpp"
#include "flow/limit/support.hpp"

#include <weir/flow/decision/spacing.hpp>

#include <gtest/gtest.h>

namespace {

using namespace limiter_tests;
using namespace weir::decision;

TEST(Spacing, NamesExactWaits) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        std::mt19937_64 random(seed);
        const auto make = [&] { return std::make_unique<spacing>(spacing_limits{100ms}); };
        names_exact_waits(random, make, 100ms, 3);
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}

}  // namespace
