// SPDX-License-Identifier: MIT
// Handlers that take too long.

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/http/deadline.hpp>
#include <weir/http/problem.hpp>
#include <weir/testing/testing.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::method;
using http::request;
using http::response;
using http::status;

WEIR_TEST(Deadline, StopsHandlersAndAwaitsTheirCleanUp) {
    std::string trace;
    auto slow = [&](request&) -> task<response> {
        auto work = [&]() -> task<> {
            co_await sleep(10s);
            trace += "done ";
        };
        auto clean = [&]() -> task<> {
            co_await sleep(1s);
            trace += "cleaned ";
        };
        co_await finally(work, clean);
        co_return response();
    };
    http::handler app = http::with(http::deadline(2s), slow);
    const auto began = now();
    request incoming(method::get, "/");
    const response late = co_await app(incoming);
    EXPECT_EQ(late.status(), status::service_unavailable);
    EXPECT_EQ(late.content_type(), "application/problem+json");
    EXPECT_EQ(trace, "cleaned ");
    EXPECT_EQ(now() - began, 3s);

    http::handler patient = http::with(http::deadline(20s, status::gateway_timeout), slow);
    const response in_time = co_await patient(incoming);
    EXPECT_EQ(in_time.status(), status::ok);
    EXPECT_EQ(trace, "cleaned done cleaned ");

    http::handler hasty = http::with(http::deadline(1ms, status::gateway_timeout), slow);
    const response gateway = co_await hasty(incoming);
    EXPECT_EQ(gateway.status(), status::gateway_timeout);
}

WEIR_TEST(Deadline, IsNotConfusedWithTimeoutsInside) {
    auto own = [](request&) -> task<response> {
        co_await timeout(1s, sleep_forever());
        co_return response();
    };
    http::handler app = http::with(http::deadline(5s), own);
    request incoming(method::get, "/");
    auto ask = [&]() -> task<> { co_await app(incoming); };
    WEIR_EXPECT_TIMEOUT(ask());
    // One around it stops all of it, and no answer is made.
    auto endless = [](request&) -> task<response> {
        co_await sleep_forever();
        co_return response();
    };
    http::handler slow = http::with(http::deadline(5s), endless);
    auto ask_slow = [&]() -> task<> { co_await slow(incoming); };
    const auto began = now();
    WEIR_EXPECT_TIMEOUT(timeout(2s, ask_slow));
    EXPECT_EQ(now() - began, 2s);
    EXPECT_THROW(http::deadline(0s), invalid_argument);
    EXPECT_THROW(http::deadline(-1s), invalid_argument);
    EXPECT_THROW(http::deadline(1s, status::ok), invalid_argument);
}

// A limiter whose turn would come too late refuses at once; the client is told when to try again.
WEIR_TEST(Deadline, KeepsTheRefusalsOfLimitersInside) {
    token_bucket bucket({.rate = 0.1, .burst = 1});
    EXPECT_TRUE(bucket.try_acquire());
    auto limited = [&](request&) -> task<response> {
        co_await bucket.acquire();
        co_return response();
    };
    http::handler app = http::with(http::deadline(2s), limited);
    request incoming(method::get, "/");
    auto ask = [&]() -> task<> { co_await app(incoming); };
    const auto began = now();
    const auto ended = co_await settle(ask());
    EXPECT_EQ(now(), began);
    WEIR_ASSERT_TRUE(ended.has_error() || ended.is_refused());
    const response answer = http::to_response(ended.error());
    EXPECT_EQ(answer.status(), status::service_unavailable);
    EXPECT_EQ(answer.headers().get("Retry-After"), "10");
}

}  // namespace
