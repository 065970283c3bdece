// SPDX-License-Identifier: MIT
// Bodies of requests above a limit.

#include <weir/error.hpp>
#include <weir/http/body_limit.hpp>
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

WEIR_TEST(BodyLimit, RefusesLargerBodies) {
    http::handler app = http::with(http::body_limit(4), [](request& incoming) -> task<response> {
        std::string text = co_await incoming.text();
        co_return response::text(std::move(text));
    });
    request small(method::post, "/");
    small.set_body("1234");
    const response answer = co_await app(small);
    EXPECT_EQ(answer.body().text(), "1234");
    request large(method::post, "/");
    large.set_body("12345");
    auto ask = [&]() -> task<> { co_await app(large); };
    WEIR_EXPECT_THROW_WITH(ask(), http::problem, "larger than 4 bytes");
}

}  // namespace
