// SPDX-License-Identifier: MIT
// Finished entries are kept up to a number and an age.

#include "flow/jobs/retention.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::clock;

TEST(Retention, DropsTheOldestAboveTheNumber) {
    weir::detail::retention<int, clock::time_point> kept(2, 1h);
    const clock::time_point now{};
    kept.add(1, now);
    kept.add(2, now);
    EXPECT_FALSE(kept.has_surplus(now));
    kept.add(3, now);
    EXPECT_TRUE(kept.has_surplus(now));
    EXPECT_EQ(kept.oldest(), 1);
    EXPECT_EQ(kept.take_oldest(), 1);
    EXPECT_FALSE(kept.has_surplus(now));
    EXPECT_EQ(kept.size(), 2u);
}

TEST(Retention, DropsEntriesAtTheAge) {
    weir::detail::retention<int, clock::time_point> kept(10, 1min);
    const clock::time_point now{};
    kept.add(1, now);
    EXPECT_FALSE(kept.has_surplus(now + 59s));
    EXPECT_TRUE(kept.has_surplus(now + 60s));
}

}  // namespace
