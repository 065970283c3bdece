// SPDX-License-Identifier: MIT
// The contract of shared limits, and what becomes of it when Redis is away: stopped, frozen, cut
// off in the middle of a question, or made to forget its scripts and its keys.

#include "support.hpp"

#include <weir/flow/keyed.hpp>
#include <weir/testing/io/fault_proxy.hpp>

#include <csignal>

namespace {

using namespace shared_limits;
using redis_test::redis_server;
using redis_test::shared_server;
using weir::refusal_reason;

static_assert(weir::waiting_gate<redis::token_bucket>);
static_assert(weir::waiting_gate<redis::sliding_window>);
static_assert(std::is_trivially_destructible_v<redis::token_bucket_options>);
static_assert(std::is_trivially_destructible_v<redis::sliding_window_options>);

// One for each user: what is forgotten here is still known there.
WEIR_IO_TEST(Limiter, CanBeOnePerKey) {
    redis::client store({.port = shared_server().port()});
    co_await store.command("DEL", "user:a", "user:b", "user:c");
    auto make = [&](const std::string& user) {
        const std::string key = "user:" + user;
        return redis::token_bucket(store, {.key = key, .rate = 0.001, .burst = 2, .timeout = 5s});
    };
    weir::keyed<std::string, redis::token_bucket> users({.max_size = 2}, make);
    int passed = 0;
    for (int i = 0; i < 3; ++i) {
        for (const std::string user : {"a", "b", "c"}) {
            auto limit = users.get(user);
            const auto in = co_await limit->try_acquire();
            passed += in ? 1 : 0;
        }
    }
    EXPECT_EQ(passed, 6);
    EXPECT_EQ(users.size(), 2u);
    EXPECT_GT(users.stats().evicted, 3u);
}

WEIR_IO_TEST(Limiter, RefusesInvalidOptions) {
    redis::client store({.port = shared_server().port()});
    EXPECT_THROW(redis::token_bucket(store, {.key = "", .rate = 1}), weir::invalid_argument);
    EXPECT_THROW(redis::token_bucket(store, {.key = "a", .rate = 0}), weir::invalid_argument);
    EXPECT_THROW(redis::token_bucket(store, {.key = "a", .rate = 1, .timeout = 0s}),
                 weir::invalid_argument);
    EXPECT_THROW(redis::sliding_window(store, {.key = "a", .limit = 0}), weir::invalid_argument);
    EXPECT_THROW(
        redis::sliding_window(
            store,
            {.key = "a", .limit = 1, .when_away = redis::when_away::limit_locally, .share = 2}),
        weir::invalid_argument);
    // A key that holds another type: an error of the user, reported by the limiter's trouble().
    co_await store.command("DEL", "taken");
    co_await store.command("SADD", "taken", "x");
    redis::token_bucket confused(store, {.key = "taken", .rate = 1});
    const auto refused = co_await confused.try_acquire();
    EXPECT_FALSE(refused);
    EXPECT_NE(confused.trouble().find("WRONGTYPE"), std::string::npos) << confused.trouble();
    co_await store.command("DEL", "taken");
}

// Redis stopped, Redis frozen: no task hangs, and the limiter recovers.
WEIR_IO_TEST(Limiter, NoTaskHangsWhenRedisIsAway) {
    redis_server server;
    redis::client store({.port = server.port(), .response_timeout = 500ms});
    redis::token_bucket limit(
        store, {.key = "a", .rate = 1000, .burst = 100, .timeout = 100ms, .probe_every = 20ms});
    co_await limit.acquire();
    for (const bool freezes : {true, false}) {
        freezes ? server.signal(SIGSTOP) : server.stop();
        const auto begin = weir::now();
        const auto first = co_await limit.admit();
        WEIR_ASSERT_FALSE(first);
        EXPECT_EQ(first.refusal().reason, refusal_reason::circuit_open);
        for (int i = 0; i < 100; ++i) {
            const auto next = co_await limit.try_acquire();
            EXPECT_FALSE(next);
        }
        EXPECT_LT(weir::now() - begin, 2s);
        freezes ? server.signal(SIGCONT) : server.start();
        while (limit.stats().is_away) {
            co_await weir::sleep(5ms);
        }
        const auto again = co_await limit.admit();
        WEIR_ASSERT_TRUE(again);
    }
}

// Cut in the middle of questions: the bound holds by the clock of Redis, and every task is served.
WEIR_IO_TEST(Limiter, CutsKeepTheBound) {
    weir::testing::fault_proxy proxy(weir::io::address::loopback(shared_server().port()),
                                     {.latency = 2ms});  // there is always a question under way
    redis::client direct({.port = shared_server().port()});
    co_await direct.command("DEL", "cut");
    redis::client store({.port = proxy.address().port(), .reconnect_delay = 1ms});
    redis::token_bucket limit(
        store, {.key = "cut", .rate = 1000, .burst = 5, .timeout = 200ms, .probe_every = 2ms});
    std::vector<grant> grants;
    auto use = [&]() -> task<> {
        for (int left = 15; left > 0;) {
            auto in = co_await limit.admit();
            if (!in) {
                co_await weir::sleep(in.refusal().retry_after + 1ms);
                continue;
            }
            grants.push_back({time_point(duration(in.pass().at.time_since_epoch())), 1, 0});
            --left;
        }
    };
    auto cuts = [&]() -> task<> {
        for (int i = 0; i < 20; ++i) {
            co_await weir::sleep(10ms);
            proxy.reset_all();
        }
    };
    auto all = [&](weir::task_group& group) -> task<> {
        group.spawn(cuts());
        for (int i = 0; i < 8; ++i) {
            group.spawn(use());
        }
        co_return;
    };
    co_await weir::with_group(all);
    std::sort(grants.begin(), grants.end(),
              [](const grant& one, const grant& next) { return one.when < next.when; });
    EXPECT_EQ(exceeds_bucket(grants, 1000, 1s, 5), std::nullopt);
    EXPECT_EQ(grants.size(), 8u * 15);
    EXPECT_GT(limit.stats().unanswered, 0u);
    co_await proxy.close();
}

}  // namespace
