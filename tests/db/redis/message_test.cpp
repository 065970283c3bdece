// SPDX-License-Identifier: MIT
// Messages of subscriptions; subscription_test.cpp has what brings them.

#include <weir/db/redis/message.hpp>

#include <gtest/gtest.h>

namespace {

using weir::redis::message;

TEST(Message, IsEmptyByDefaultAndNotMissed) {
    const message none;
    EXPECT_TRUE(none.channel.empty() && none.pattern.empty() && none.payload.empty());
    EXPECT_FALSE(none.missed);
}

TEST(Message, ComparesAllMembers) {
    const message one{"orders", "ord*", "17", false};
    EXPECT_EQ(one, (message{"orders", "ord*", "17", false}));
    EXPECT_NE(one, (message{"orders", "", "17", false}));
    EXPECT_NE(one, (message{"orders", "ord*", "18", false}));
    EXPECT_NE(one, (message{"orders", "ord*", "17", true}));
}

}  // namespace
