// SPDX-License-Identifier: MIT
// All middleware around one handler, stopped at any moment.

#include <support/schedules.hpp>

#include <weir/error.hpp>
#include <weir/finally.hpp>
#include <weir/http/access_log.hpp>
#include <weir/http/bearer_auth.hpp>
#include <weir/http/body_limit.hpp>
#include <weir/http/client_limit.hpp>
#include <weir/http/cors.hpp>
#include <weir/http/deadline.hpp>
#include <weir/http/problem.hpp>
#include <weir/http/request_id.hpp>
#include <weir/http/router.hpp>
#include <weir/http/trusted_proxies.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/testing.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using http::access_record;
using http::method;
using http::request;
using http::response;
using http::status;

// Requests through all middleware at once, stopped at any moment, or too late on their own: each is
// recorded once, and what was begun has ended.
TEST(Middleware, StoppedAnywhere) {
    int stopped = 0;
    int late = 0;
    schedules::expect_under(150, [&]() -> task<> {
        schedules::dice random;
        int begun = 0;
        int cleaned = 0;
        int entered = 0;
        int records = 0;
        http::router app;
        app.use(http::access_log([&](const access_record& record) {
            ++records;
            stopped += record.code ? 0 : 1;
            late += record.code == status::service_unavailable ? 1 : 0;
        }));
        app.use(http::request_ids());
        app.use(http::cors().allow_any_origin());
        app.use(http::trusted_proxies().trust("10.0.0.0/8"));
        http::bearer_auth auth;
        auth.checked_by([&](std::string_view) -> task<std::optional<http::principal>> {
            co_await schedules::pause(random, 20);
            if (random.one_in(5)) {
                co_return std::nullopt;
            }
            co_return http::principal{"someone", {}};
        });
        app.use(auth);
        app.use(http::client_limit({.rate = 1, .burst = 4}));
        app.use(http::body_limit(100));
        app.use(http::deadline(15ms));
        app.post("/{id}", [&](request& incoming) -> task<response> {
            ++begun;
            auto work = [&]() -> task<std::string> {
                co_await schedules::pause(random, 30);
                co_return co_await incoming.text();
            };
            auto clean = [&]() -> task<> {
                co_await schedules::pause(random, 10);
                ++cleaned;
            };
            std::string text = co_await finally(work, clean);
            if (random.one_in(4)) {
                throw http::problem(status::conflict, text);
            }
            co_return response::text(std::move(text));
        });
        const auto ask = [&]() -> task<> {
            request incoming(method::post, "/7");
            incoming.headers().set("Authorization", "Bearer x");
            incoming.set_body("text");
            ++entered;
            co_await app(incoming);
        };
        std::vector<handle<void>> asking;
        for (int i = 0; i < 6; ++i) {
            asking.push_back(spawn(ask));
        }
        for (const auto& each : asking) {
            co_await schedules::pause(random, 20);
            if (random.one_in(2)) {
                each.cancel();
            }
        }
        for (const auto& each : asking) {
            (void)co_await settle(each.wait());
        }
        EXPECT_EQ(records, entered);
        EXPECT_EQ(begun, cleaned);
    });
    EXPECT_GT(stopped, 25);
    EXPECT_GT(late, 25);
}

}  // namespace
