// SPDX-License-Identifier: MIT
// The order of priorities.

#include <weir/flow/priority.hpp>

#include <gtest/gtest.h>

namespace {

TEST(Priority, IsOrderedByImportance) {
    EXPECT_LT(weir::priority::low, weir::priority::normal);
    EXPECT_LT(weir::priority::normal, weir::priority::high);
    EXPECT_LT(weir::priority::high, weir::priority::critical);
}

}  // namespace
