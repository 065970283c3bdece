// SPDX-License-Identifier: MIT
// Close codes: the ones that may be sent, and the ones that end a connection as planned.

#include <weir/ws/close_code.hpp>

#include <gtest/gtest.h>

namespace {

namespace ws = weir::ws;
using ws::close_code;

TEST(CloseCode, SaysWhetherItMayBeSent) {
    for (const unsigned good : {1000U, 1001U, 1002U, 1003U, 1007U, 1011U, 1014U, 3000U, 4999U}) {
        EXPECT_TRUE(ws::may_be_sent(close_code(good))) << good;
    }
    for (const unsigned bad : {0U, 999U, 1004U, 1005U, 1006U, 1015U, 1016U, 2999U, 5000U, 65535U}) {
        EXPECT_FALSE(ws::may_be_sent(close_code(bad))) << bad;
    }
}

TEST(CloseCode, SaysWhetherTheEndWasPlanned) {
    EXPECT_TRUE(ws::is_regular(close_code::normal));
    EXPECT_TRUE(ws::is_regular(close_code::going_away));
    EXPECT_TRUE(ws::is_regular(close_code::none));
    EXPECT_FALSE(ws::is_regular(close_code::abnormal));
    EXPECT_FALSE(ws::is_regular(close_code::internal_error));
    EXPECT_FALSE(ws::is_regular(close_code(4001)));
}

TEST(CloseCode, HasTheNumbersOfTheRfc) {
    EXPECT_EQ(ws::number_of(close_code::normal), 1000U);
    EXPECT_EQ(ws::number_of(close_code::policy_violation), 1008U);
    EXPECT_EQ(ws::number_of(close_code::bad_gateway), 1014U);
}

}  // namespace
