// SPDX-License-Identifier: MIT
#include "service/engine/bulk_operation.hpp"

#include "support.hpp"

namespace weir::service::testing {
namespace {

// Grows while steps are short, shrinks when they are long, within bounds.
TEST(StepSize, FollowsTheTimeOfTheLastStep) {
    detail::step_size size;
    const std::size_t first = size.next();
    size.took(1ms, first);
    EXPECT_GT(size.next(), first);
    for (int i = 0; i < 100; ++i) {
        size.took(1ms, size.next());
    }
    const std::size_t largest = size.next();
    EXPECT_EQ(largest, 500U);
    size.took(6ms, largest);  // neither short nor long
    EXPECT_EQ(size.next(), largest);
    size.took(9ms, largest);
    EXPECT_EQ(size.next(), largest / 2);
    for (int i = 0; i < 100; ++i) {
        size.took(1s, size.next());
    }
    EXPECT_EQ(size.next(), 20U);
    size.took(1ms, 5);  // the last step of a page says little
    EXPECT_EQ(size.next(), 20U);
}

TEST(StepSize, LeavesAsMuchTimeToOthers) {
    EXPECT_EQ(detail::step_size::pause_after(5ms), 5ms);
    EXPECT_EQ(detail::step_size::pause_after(0ms), 1ms);
    EXPECT_EQ(detail::step_size::pause_after(10s), 100ms);
}

}  // namespace
}  // namespace weir::service::testing
