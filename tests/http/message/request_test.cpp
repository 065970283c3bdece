// SPDX-License-Identifier: MIT
// Requests without a server: their parts, bodies and attachments.

#include <weir/http/error.hpp>
#include <weir/http/request.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace weir;
using http::method;
using http::request;

TEST(Request, HasAMethodAPathAndAQuery) {
    const request get(method::get, "/a%20b?page=2&name=x+%41&flag&page=3&bad=%4");
    EXPECT_EQ(get.method(), method::get);
    EXPECT_EQ(get.method_name(), "GET");
    EXPECT_EQ(get.path(), "/a%20b");
    EXPECT_EQ(get.query("page"), "2");
    EXPECT_EQ(get.query("name"), "x A");
    EXPECT_EQ(get.query("flag"), "");
    EXPECT_EQ(get.query("bad"), "%4");
    EXPECT_FALSE(get.query("other").has_value());
    const request plain;
    EXPECT_EQ(plain.target(), "/");
    EXPECT_EQ(plain.query_string(), "");
}

TEST(Request, HasParametersOfItsRoute) {
    request incoming(method::get, "/tasks/7");
    incoming.set_route("/tasks/{id}");
    incoming.add_param("id", "7");
    EXPECT_EQ(incoming.route(), "/tasks/{id}");
    EXPECT_EQ(incoming.param("id"), "7");
    EXPECT_EQ(incoming.param("other"), "");
}

WEIR_TEST(Request, ReadsABodyInPieces) {
    request incoming(method::post, "/");
    EXPECT_FALSE(incoming.has_body());
    incoming.set_body("abcde");
    EXPECT_TRUE(incoming.has_body());
    EXPECT_EQ(incoming.content_length(), 5U);
    std::string piece(2, '\0');
    const std::size_t count = co_await incoming.read(piece);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(piece, "ab");
    const std::string rest = co_await incoming.text();
    EXPECT_EQ(rest, "cde");
    const std::size_t end = co_await incoming.read(piece);
    EXPECT_EQ(end, 0U);
}

TEST(Request, RefusesABodyAboveItsLimit) {
    request incoming(method::post, "/");
    incoming.set_body("abcde");
    incoming.limit_body(5);
    try {
        incoming.limit_body(4);
        ADD_FAILURE() << "no error";
    } catch (const http::problem& error) {
        EXPECT_EQ(error.code(), http::status::content_too_large);
        EXPECT_STREQ(error.what(), "the body is larger than 4 bytes");
    }
}

TEST(Request, CarriesOneObjectOfEachType) {
    struct user {
        std::string name;
    };
    request incoming;
    EXPECT_EQ(incoming.attached<user>(), nullptr);
    incoming.attach(user{"alice"}).name += "!";
    incoming.attach(7);
    ASSERT_NE(incoming.attached<user>(), nullptr);
    EXPECT_EQ(incoming.attached<user>()->name, "alice!");
    incoming.attach(user{"bob"});
    EXPECT_EQ(incoming.attached<user>()->name, "bob");
    EXPECT_EQ(*incoming.attached<int>(), 7);
}

TEST(Request, IsForgottenByReset) {
    request incoming(method::get, "/");
    incoming.set_remote_address(io::address::parse("192.0.2.1:7"));
    incoming.set_client_address(io::address::parse("198.51.100.1:9"));
    incoming.headers().add("Host", "a");
    incoming.attach(7);
    incoming.set_route("/");
    incoming.add_param("id", "7");
    incoming.set_body("abc");
    incoming.reset();
    EXPECT_EQ(incoming.host(), "");
    EXPECT_EQ(incoming.attached<int>(), nullptr);
    EXPECT_EQ(incoming.route(), "");
    EXPECT_EQ(incoming.param("id"), "");
    EXPECT_EQ(incoming.client_address(), incoming.remote_address());
}

}  // namespace
