// SPDX-License-Identifier: MIT
// The errors of WebSocket connections.

#include <weir/ws/error.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace http = weir::http;
namespace ws = weir::ws;

static_assert(std::is_base_of_v<http::error, ws::closed>);
static_assert(std::is_base_of_v<ws::closed, ws::protocol_error>);
static_assert(std::is_base_of_v<http::error, ws::handshake_error>);

TEST(Error, ClosedHasACodeAndAReason) {
    try {
        throw ws::protocol_error(ws::close_code::too_big, "the message is too big",
                                 "the peer broke the protocol: 1009 the message is too big");
    } catch (const ws::closed& error) {
        EXPECT_EQ(error.code(), ws::close_code::too_big);
        EXPECT_EQ(error.reason(), "the message is too big");
        EXPECT_STREQ(error.what(), "the peer broke the protocol: 1009 the message is too big");
    }
}

TEST(Error, AFailedHandshakeHasTheStatusOfTheServer) {
    const ws::handshake_error declined("the server answered 403", http::status::forbidden);
    EXPECT_EQ(declined.status(), http::status::forbidden);
    EXPECT_STREQ(declined.what(), "the server answered 403");
    EXPECT_EQ(http::number_of(ws::handshake_error("no HTTP").status()), 0U);
}

}  // namespace
