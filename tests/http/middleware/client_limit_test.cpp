// SPDX-License-Identifier: MIT
// Rate limits for each client.

#include "handlers.hpp"

#include <weir/error.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/problem.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <limits>
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

task<std::string> asks_with(http::handler& app, std::string_view name, std::string_view value) {
    request incoming(method::get, "/");
    if (!name.empty()) {
        incoming.headers().add(name, value);
    }
    response answer = co_await app(incoming);
    co_return std::to_string(number_of(answer.status())) + " " +
        std::string(answer.header("WWW-Authenticate"));
}

task<response> asks_from(http::handler& app, std::string_view host) {
    request incoming(method::get, "/");
    incoming.set_remote_address(io::address::parse(host, 1234));
    response answer = co_await app(incoming);
    co_return answer;
}

WEIR_TEST(ClientLimit, CountsEachClientForItself) {
    const http::client_limit limit({.rate = 2, .burst = 3});
    http::handler app = http::with(limit, says_ok());
    for (const int left : {2, 1, 0}) {
        const response answer = co_await asks_from(app, "192.0.2.1");
        EXPECT_EQ(answer.status(), status::ok);
        EXPECT_EQ(answer.header("RateLimit-Limit"), "3");
        EXPECT_EQ(answer.header("RateLimit-Remaining"), std::to_string(left));
        EXPECT_EQ(answer.header("RateLimit-Reset"), left == 0 ? "2" : "1");  // 0.5, 1, 1.5 s
        EXPECT_EQ(answer.header("RateLimit-Policy"), "\"default\";q=3;w=2");
        EXPECT_FALSE(answer.headers().contains("Retry-After"));
    }
    const response refused = co_await asks_from(app, "192.0.2.1");
    EXPECT_EQ(refused.status(), status::too_many_requests);
    EXPECT_EQ(refused.content_type(), "application/problem+json");
    EXPECT_EQ(refused.header("Retry-After"), "1");
    EXPECT_EQ(refused.header("RateLimit-Remaining"), "0");
    EXPECT_EQ(refused.header("RateLimit"), "\"default\";r=0;t=2");
    const response other = co_await asks_from(app, "192.0.2.2");
    EXPECT_EQ(other.status(), status::ok);

    // A client that waits as long as Retry-After says is admitted.
    co_await sleep(1s);
    const response later = co_await asks_from(app, "192.0.2.1");
    EXPECT_EQ(later.status(), status::ok);
    EXPECT_EQ(later.header("RateLimit-Remaining"), "1");
    EXPECT_EQ(limit.stats().let_in, 5u);
    EXPECT_EQ(limit.stats().refused, 1u);
}

WEIR_TEST(ClientLimit, AddsHeadersToFailuresToo) {
    http::handler app = http::with(http::client_limit({.rate = 1}), throws_gone());
    const response answer = co_await asks_from(app, "192.0.2.1");
    EXPECT_EQ(answer.status(), status::gone);
    EXPECT_EQ(answer.header("RateLimit-Remaining"), "0");
}

WEIR_TEST(ClientLimit, TellsTheTightestOfSeveral) {
    for (const bool is_inner : {true, false}) {
        const http::client_limit wide({.rate = 1, .burst = 100, .name = "wide"});
        const http::client_limit tight({.rate = 1, .burst = 20, .name = "tight"});
        http::handler app =
            http::with(is_inner ? wide : tight, http::with(is_inner ? tight : wide, says_ok()));
        const response answer = co_await asks_from(app, "192.0.2.1");
        EXPECT_EQ(answer.header("RateLimit-Limit"), "20");
        EXPECT_EQ(answer.header("RateLimit-Remaining"), "19");
        EXPECT_EQ(answer.headers().count("RateLimit-Remaining"), 1u);
        EXPECT_EQ(answer.headers().joined("RateLimit"),
                  is_inner ? "\"tight\";r=19;t=1, \"wide\";r=99;t=1"
                           : "\"wide\";r=99;t=1, \"tight\";r=19;t=1");
    }
}

WEIR_TEST(ClientLimit, BoundsItsMemory) {
    http::client_limit limit({.rate = 1, .max_clients = 2});
    http::handler app = http::with(limit, says_ok());
    const response first = co_await asks_from(app, "192.0.2.1");
    const response second = co_await asks_from(app, "192.0.2.2");
    const response third = co_await asks_from(app, "192.0.2.3");
    EXPECT_EQ(first.status(), status::ok);
    EXPECT_EQ(second.status(), status::ok);
    EXPECT_EQ(third.status(), status::service_unavailable);
    EXPECT_EQ(third.header("Retry-After"), "1");
    EXPECT_EQ(limit.stats().full, 1u);
}

WEIR_TEST(ClientLimit, TakesKeysFromAFunction) {
    http::client_limit by_name({.rate = 1, .name = "names"}, [](const request& incoming) {
        return std::string(incoming.header("X-Name"));
    });
    http::handler app = http::with(by_name, says_ok());
    const std::string first = co_await asks_with(app, "X-Name", "a");
    const std::string second = co_await asks_with(app, "X-Name", "a");
    const std::string other = co_await asks_with(app, "X-Name", "b");
    const std::string free = co_await asks_with(app, "", "");
    const std::string free_again = co_await asks_with(app, "", "");
    EXPECT_EQ(first + second + other + free + free_again, "200 429 200 200 200 ");
}

TEST(ClientLimit, GroupsAddressesIntoClients) {
    const auto key = [](std::string_view host, unsigned prefix = 64) {
        return http::client_key(io::address::parse(host, 0), prefix);
    };
    EXPECT_EQ(key("192.0.2.1"), key("::ffff:192.0.2.1"));
    EXPECT_NE(key("192.0.2.1"), key("192.0.2.2"));
    EXPECT_EQ(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::2"));
    EXPECT_NE(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    EXPECT_EQ(key("2001:db8:1:2::1", 56), key("2001:db8:1:3::1", 56));
    EXPECT_NE(key("2001:db8:1:2::1", 56), key("2001:db8:1:100::1", 56));
    EXPECT_NE(key("255.255.255.255"), key("::"));
    EXPECT_EQ(http::client_key(io::address()), http::client_key(io::address::local("/x")));
}

TEST(ClientLimit, RefusesInvalidOptions) {
    EXPECT_THROW(http::client_limit({}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = -1}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = std::numeric_limits<double>::quiet_NaN()}),
                 invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .per = 0s}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .burst = 0}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .max_clients = 0}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .ipv6_prefix = 65}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1, .name = "a\"b"}), invalid_argument);
    EXPECT_THROW(http::client_limit({.rate = 1}, http::client_limit::key_function()),
                 invalid_argument);
}

}  // namespace
