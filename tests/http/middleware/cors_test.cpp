// SPDX-License-Identifier: MIT
// Requests from pages of other origins.

#include "handlers.hpp"

#include <weir/error.hpp>
#include <weir/http/cors.hpp>
#include <weir/http/problem.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::method;
using http::request;
using http::response;
using http::status;
using middleware_test::says_ok;
using middleware_test::throws_gone;

task<response> asks_as(http::handler& app, method which, std::string_view origin,
                       std::string_view wants = {}, std::string_view wants_headers = {}) {
    request incoming(which, "/");
    if (!origin.empty()) {
        incoming.headers().set("Origin", origin);
    }
    if (!wants.empty()) {
        incoming.headers().set("Access-Control-Request-Method", wants);
    }
    if (!wants_headers.empty()) {
        incoming.headers().set("Access-Control-Request-Headers", wants_headers);
    }
    response answer = co_await app(incoming);
    co_return answer;
}

WEIR_TEST(Cors, AllowsListedOrigins) {
    int calls = 0;
    http::handler app = http::with(http::cors()
                                       .allow_origin("https://a.example")
                                       .allow_origin("http://localhost:3000")
                                       .allow_header("Content-Type")
                                       .allow_header("X-Own")
                                       .allow_credentials()
                                       .expose_header("ETag")
                                       .max_age(1h),
                                   [&] {
                                       ++calls;
                                       return response().with("Vary", "Accept-Encoding");
                                   });
    const response good = co_await asks_as(app, method::get, "https://a.example");
    EXPECT_EQ(good.header("Access-Control-Allow-Origin"), "https://a.example");
    EXPECT_EQ(good.header("Access-Control-Allow-Credentials"), "true");
    EXPECT_EQ(good.header("Access-Control-Expose-Headers"), "ETag");
    EXPECT_EQ(good.headers().joined("Vary"), "Accept-Encoding, Origin");
    for (const std::string_view bad :
         {"https://b.example", "http://a.example", "https://a.example.evil", "null",
          "https://a.example:8443", "https://evila.example", ""}) {
        const response other = co_await asks_as(app, method::get, bad);
        EXPECT_EQ(other.status(), status::ok);
        EXPECT_FALSE(other.headers().contains("Access-Control-Allow-Origin")) << bad;
        EXPECT_TRUE(other.headers().lists("Vary", "Origin")) << bad;
    }
    EXPECT_EQ(calls, 8);

    const response before =
        co_await asks_as(app, method::options, "http://localhost:3000", "PUT", "x-own");
    EXPECT_EQ(before.status(), status::no_content);
    EXPECT_EQ(before.header("Access-Control-Allow-Origin"), "http://localhost:3000");
    EXPECT_EQ(before.header("Access-Control-Allow-Methods"), "GET, HEAD, POST, PUT, PATCH, DELETE");
    EXPECT_EQ(before.header("Access-Control-Allow-Headers"), "Content-Type, X-Own");
    EXPECT_EQ(before.header("Access-Control-Max-Age"), "3600");
    EXPECT_EQ(before.headers().joined("Vary"),
              "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
    const response bad_before = co_await asks_as(app, method::options, "https://b.example", "PUT");
    EXPECT_FALSE(bad_before.headers().contains("Access-Control-Allow-Origin"));
    EXPECT_FALSE(bad_before.headers().contains("Access-Control-Allow-Methods"));
    EXPECT_EQ(calls, 8);
    const response plain_options = co_await asks_as(app, method::options, "https://a.example");
    EXPECT_EQ(plain_options.status(), status::ok);
    EXPECT_EQ(calls, 9);
}

WEIR_TEST(Cors, AllowsAnyOriginOrByRule) {
    http::handler any = http::with(
        http::cors().allow_any_origin().allow_any_header().allow_method("GET").allow_method(
            "QUERY"),
        throws_gone());
    const response failed = co_await asks_as(any, method::get, "https://x.example");
    EXPECT_EQ(failed.status(), status::gone);  // errors can be read, too
    EXPECT_EQ(failed.header("Access-Control-Allow-Origin"), "*");
    EXPECT_FALSE(failed.headers().contains("Vary"));
    const response before =
        co_await asks_as(any, method::options, "https://x.example", "QUERY", "authorization, x-a");
    EXPECT_EQ(before.header("Access-Control-Allow-Headers"), "authorization, x-a");
    EXPECT_EQ(before.header("Access-Control-Allow-Methods"), "GET, QUERY");
    const response strange =
        co_await asks_as(any, method::options, "https://x.example", "GET", "a\xff: b");
    EXPECT_FALSE(strange.headers().contains("Access-Control-Allow-Headers"));

    http::handler ruled =
        http::with(http::cors().allow_credentials().allow_origins_if(
                       [](std::string_view origin) { return origin.ends_with(".example.com"); }),
                   says_ok());
    const response good = co_await asks_as(ruled, method::get, "https://a.example.com");
    EXPECT_EQ(good.header("Access-Control-Allow-Origin"), "https://a.example.com");
    const response bad = co_await asks_as(ruled, method::get, "https://a.example.org");
    EXPECT_FALSE(bad.headers().contains("Access-Control-Allow-Origin"));
}

TEST(Cors, RefusesInvalidOptions) {
    EXPECT_THROW(http::cors().allow_any_origin().allow_credentials(), invalid_argument);
    EXPECT_THROW(http::cors().allow_credentials().allow_any_origin(), invalid_argument);
    for (const std::string_view bad : {"*", "", "example.com", "https://", "://a", "null",
                                       "https://a.example/", "https://A.example", "https://a b"}) {
        EXPECT_THROW(http::cors().allow_origin(bad), invalid_argument) << bad;
    }
    EXPECT_THROW(http::cors().allow_method("A B"), invalid_argument);
    EXPECT_THROW(http::cors().allow_header("*"), invalid_argument);
    EXPECT_THROW(http::cors().max_age(-1s), invalid_argument);
    EXPECT_THROW(http::cors().allow_origins_if({}), invalid_argument);
}

}  // namespace
