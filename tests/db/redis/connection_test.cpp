// SPDX-License-Identifier: MIT
// A connection of one's own: transactions with WATCH, commands that block, stops.

#include <support/peers/redis.hpp>

#include <weir/cancel.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/db/redis/connection.hpp>
#include <weir/error.hpp>
#include <weir/gather.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <csignal>

namespace {

using namespace std::chrono_literals;
using weir::task;
namespace redis = weir::redis;
using redis_test::redis_server;
using redis_test::shared_server;

// Takes one from the stock, as often as other clients interfere.
task<int> take_one(redis::client& store) {
    redis::connection own = co_await store.connect();
    for (int attempts = 1;; ++attempts) {
        co_await own.command("WATCH", "stock");
        const redis::value left = co_await own.command("GET", "stock");
        co_await own.command("MULTI");
        co_await own.command("SET", "stock", std::stoi(left.text()) - 1);
        const redis::value done = co_await own.command("EXEC");
        if (!done.is_nil()) {
            co_return attempts;
        }
    }
}

WEIR_IO_TEST(Connection, WatchedTransactionsLoseNoUpdate) {
    redis::client store({.port = shared_server().port(), .database = 6});
    co_await store.set("stock", "50");
    std::vector<task<int>> takers;
    for (int i = 0; i < 20; ++i) {
        takers.push_back(take_one(store));
    }
    co_await weir::gather(std::move(takers));
    const std::optional<std::string> left = co_await store.get("stock");
    EXPECT_EQ(left, "30");
}

WEIR_IO_TEST(Connection, HasTheClientsOptions) {
    redis_server server({"--requirepass", "secret"});
    redis::client store({.port = server.port(), .password = "secret", .database = 2});
    co_await store.set("key", "two");
    redis::connection own = co_await store.connect();
    const redis::value found = co_await own.command("GET", "key");
    EXPECT_EQ(found.text(), "two");
    co_await own.command("SELECT", 3);
    const redis::value other = co_await own.command("GET", "key");
    EXPECT_TRUE(other.is_nil());
    const std::optional<std::string> shared = co_await store.get("key");
    EXPECT_EQ(shared, "two");
}

// The server must not take an element for a task that is gone.
WEIR_IO_TEST(Connection, AStoppedBlockingCommandTakesNothing) {
    redis::client store({.port = shared_server().port(), .database = 7});
    co_await store.command("DEL", "jobs");
    redis::connection own = co_await store.connect();
    bool is_stopped = false;
    try {
        co_await weir::timeout(50ms, own.command("BLPOP", "jobs", 0));
    } catch (const weir::timed_out&) {
        is_stopped = true;
    }
    EXPECT_TRUE(is_stopped);
    EXPECT_FALSE(own.is_open());
    std::string refused;
    try {
        co_await own.command("PING");
    } catch (const redis::connection_error& error) {
        refused = error.what();
    }
    EXPECT_NE(refused.find("closed"), std::string::npos) << refused;
    int blocked = 1;
    while (blocked > 0) {
        const redis::value info = co_await store.command("INFO", "clients");
        blocked = info.text().find("blocked_clients:0") == std::string::npos ? 1 : 0;
    }
    co_await store.command("RPUSH", "jobs", "one");
    const redis::value length = co_await store.command("LLEN", "jobs");
    EXPECT_EQ(length.number(), 1);
}

WEIR_IO_TEST(Connection, BlockingCommandsOutlastTheResponseTimeout) {
    redis::client store({.port = shared_server().port(), .database = 8, .response_timeout = 50ms});
    co_await store.command("DEL", "jobs");
    redis::connection own = co_await store.connect();
    const auto push = [&]() -> task<> {
        co_await weir::sleep(200ms);
        co_await store.command("RPUSH", "jobs", "late");
    };
    weir::handle<void> pushing = weir::spawn(push());
    const redis::value got = co_await own.command("BLPOP", "jobs", 5);
    EXPECT_EQ(got[1].text(), "late");
    co_await pushing;
}

WEIR_IO_TEST(Connection, ASilentServerIsNoticed) {
    redis_server server;
    redis::client store({.port = server.port(), .response_timeout = 100ms});
    redis::connection own = co_await store.connect();
    server.signal(SIGSTOP);
    std::string failure;
    try {
        co_await own.command("PING");
    } catch (const redis::connection_error& error) {
        failure = error.what();
    }
    server.signal(SIGCONT);
    EXPECT_NE(failure.find("response_timeout"), std::string::npos) << failure;
    EXPECT_FALSE(own.is_open());
}

WEIR_IO_TEST(Connection, OneCommandAtATime) {
    redis::client store({.port = shared_server().port()});
    redis::connection own = co_await store.connect();
    weir::handle<redis::value> blocked = weir::spawn(own.command("BLPOP", "never", 0.2));
    co_await weir::sleep(20ms);
    bool is_refused = false;
    try {
        co_await own.command("PING");
    } catch (const weir::invalid_state&) {
        is_refused = true;
    }
    EXPECT_TRUE(is_refused);
    const redis::value nothing = co_await std::move(blocked);
    EXPECT_TRUE(nothing.is_nil());
    const redis::value pong = co_await own.command("PING");
    EXPECT_EQ(pong.text(), "PONG");
    EXPECT_THROW(static_cast<void>(own.command("SUBSCRIBE", "x")), weir::invalid_argument);
    bool is_wrong_type = false;
    try {
        co_await own.command("NO-SUCH-COMMAND");
    } catch (const redis::reply_error&) {
        is_wrong_type = true;
    }
    EXPECT_TRUE(is_wrong_type);
    EXPECT_TRUE(own.is_open());
}

}  // namespace
