// SPDX-License-Identifier: MIT
// Status codes, their names and classes.

#include <weir/http/status.hpp>

#include <gtest/gtest.h>

namespace {

namespace http = weir::http;
using http::status;

TEST(Status, HasNumbersAndNames) {
    EXPECT_EQ(http::number_of(status::ok), 200U);
    EXPECT_EQ(http::reason_of(status::ok), "OK");
    EXPECT_EQ(http::number_of(status::not_found), 404U);
    EXPECT_EQ(http::reason_of(status::not_found), "Not Found");
    EXPECT_EQ(http::reason_of(status::too_many_requests), "Too Many Requests");
    EXPECT_EQ(http::reason_of(status(299)), "");
}

TEST(Status, BelongsToAClass) {
    EXPECT_TRUE(http::is_success(status::created));
    EXPECT_FALSE(http::is_success(status::see_other));
    EXPECT_TRUE(http::is_redirect(status::see_other));
    EXPECT_FALSE(http::is_redirect(status::ok));
    EXPECT_TRUE(http::is_error(status::bad_request));
    EXPECT_TRUE(http::is_error(status::internal_server_error));
    EXPECT_FALSE(http::is_error(status::not_modified));
}

TEST(Status, SaysWhetherAResponseMayHaveABody) {
    EXPECT_TRUE(http::may_have_body(status::ok));
    EXPECT_TRUE(http::may_have_body(status::not_found));
    EXPECT_FALSE(http::may_have_body(status::switching_protocols));
    EXPECT_FALSE(http::may_have_body(status::no_content));
    EXPECT_FALSE(http::may_have_body(status::not_modified));
}

}  // namespace
