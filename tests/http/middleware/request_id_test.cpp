// SPDX-License-Identifier: MIT
// Ids of requests: taken from the client or made.

#include "handlers.hpp"

#include <weir/error.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/request_id.hpp>
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
using middleware_test::throws_gone;

WEIR_TEST(RequestId, IsTakenFromTheClientOrMade) {
    std::string seen;
    http::handler app = http::with(http::request_ids(), [&](request& incoming) {
        seen = incoming.attached<http::request_id>()->text;
        return response();
    });
    const auto ask = [&](std::string_view sent_id) -> task<std::string> {
        request incoming(method::get, "/");
        if (!sent_id.empty()) {
            incoming.headers().set("X-Request-Id", sent_id);
        }
        const response answer = co_await app(incoming);
        EXPECT_EQ(answer.header("X-Request-Id"), seen);
        co_return std::string(answer.header("X-Request-Id"));
    };
    const std::string kept = co_await ask("a1-B2.c_3:d/e+f=g@h");
    EXPECT_EQ(kept, "a1-B2.c_3:d/e+f=g@h");
    const std::string longest = co_await ask(std::string(128, 'x'));
    EXPECT_EQ(longest.size(), 128u);
    std::string last;
    for (const std::string& bad :
         {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\"b"),
          std::string("a%0ab"), std::string("\xc3\xa9"), std::string("<x>")}) {
        const std::string new_id = co_await ask(bad);
        EXPECT_EQ(new_id.size(), 32u);
        EXPECT_EQ(new_id.find_first_not_of("0123456789abcdef"), std::string::npos);
        EXPECT_NE(new_id, last);
        last = new_id;
    }
    http::handler strict = http::with(http::request_ids().ignore_given(), throws_gone());
    request incoming(method::get, "/");
    incoming.headers().set("X-Request-Id", "given");
    const response answer = co_await strict(incoming);
    EXPECT_EQ(answer.status(), status::gone);
    EXPECT_EQ(answer.header("X-Request-Id").size(), 32u);
}

}  // namespace
