// SPDX-License-Identifier: MIT
// The callables that are handlers, and middleware before them.

#include <weir/error.hpp>
#include <weir/http/handler.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

using namespace weir;
using http::handler;
using http::method;
using http::next;
using http::request;
using http::response;

task<std::string> call(handler& app) {
    request incoming(method::get, "/a");
    const response answer = co_await app(incoming);
    co_return std::string(answer.body().text());
}

WEIR_TEST(Handler, IsAnyCallableThatGivesAResponse) {
    handler plain = [] { return response::text("plain"); };
    handler with_request = [](request& incoming) {
        return response::text(std::string(incoming.path()));
    };
    handler with_task = []() -> task<response> { co_return response::text("task"); };
    handler with_both = [](request& incoming) -> task<response> {
        co_return response::text("task " + std::string(incoming.path()));
    };
    const std::string first = co_await call(plain);
    EXPECT_EQ(first, "plain");
    const std::string second = co_await call(with_request);
    EXPECT_EQ(second, "/a");
    const std::string third = co_await call(with_task);
    EXPECT_EQ(third, "task");
    const std::string fourth = co_await call(with_both);
    EXPECT_EQ(fourth, "task /a");
    EXPECT_FALSE(handler());
    EXPECT_TRUE(static_cast<bool>(plain));
}

WEIR_TEST(Handler, IsCalledThroughItsMiddleware) {
    auto twice = [](request& incoming, next inner) -> task<response> {
        const response first = co_await inner(incoming);
        const response second = co_await inner(incoming);
        co_return response::text(std::string(first.body().text()) +
                                 std::string(second.body().text()));
    };
    int calls = 0;
    handler app = http::with(twice, [&] { return response::text(std::to_string(++calls)); });
    const std::string doubled = co_await call(app);
    EXPECT_EQ(doubled, "12");

    handler closed =
        http::with([](request&, next) -> task<response> { co_return response::text("closed"); },
                   std::move(app));
    const std::string own = co_await call(closed);
    EXPECT_EQ(own, "closed");
    EXPECT_EQ(calls, 2);
}

TEST(Handler, RefusesEmptyParts) {
    const auto message = [](http::middleware before, handler inner) -> std::string {
        try {
            http::with(std::move(before), std::move(inner));
        } catch (const invalid_argument& error) {
            return error.what();
        }
        return {};
    };
    auto pass = [](request& incoming, next inner) { return inner(incoming); };
    EXPECT_EQ(message(pass, handler()), "http::with: the handler is empty");
    EXPECT_EQ(message(http::middleware(), [] { return response(); }),
              "http::with: the middleware is empty");
}

}  // namespace
