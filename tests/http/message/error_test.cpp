// SPDX-License-Identifier: MIT
// The errors of the HTTP layer, and what a handler's error carries to the client.

#include <weir/http/error.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

namespace http = weir::http;

static_assert(std::is_base_of_v<std::runtime_error, http::error>);
static_assert(std::is_base_of_v<http::error, http::problem>);
static_assert(std::is_base_of_v<http::problem, http::protocol_error>);

TEST(Error, AProblemHasAStatusAndADetail) {
    try {
        throw http::problem(http::status::conflict, "there are 3 left");
    } catch (const http::error& error) {
        EXPECT_STREQ(error.what(), "there are 3 left");
        const auto* const problem = dynamic_cast<const http::problem*>(&error);
        ASSERT_NE(problem, nullptr);
        EXPECT_EQ(problem->code(), http::status::conflict);
    }
}

TEST(Error, AProtocolErrorIsAProblem) {
    try {
        throw http::protocol_error(http::status::bad_request, "no Host");
    } catch (const http::problem& error) {
        EXPECT_EQ(error.code(), http::status::bad_request);
        EXPECT_STREQ(error.what(), "no Host");
    }
}

}  // namespace
