// SPDX-License-Identifier: MIT
// Replies of Redis as values.

#include <support/peers/redis.hpp>

#include <weir/cancel.hpp>
#include <weir/db/redis/client.hpp>
#include <weir/group.hpp>
#include <weir/io/listener.hpp>
#include <weir/io/socket.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/io/fault_proxy.hpp>
#include <weir/time.hpp>

#include <csignal>
#include <random>

namespace {

using namespace std::chrono_literals;
using weir::task;
namespace redis = weir::redis;
using redis_test::redis_server;
using redis_test::shared_server;

WEIR_IO_TEST(Value, RepliesHaveTheirTypes) {
    redis::client store({.port = shared_server().port()});
    co_await store.command("FLUSHALL");
    co_await store.set("key", "text");
    const auto text = co_await store.get("key");
    EXPECT_EQ(text, "text");
    const auto none = co_await store.get("none");
    EXPECT_EQ(none, std::nullopt);
    // Any bytes; nothing in them is taken for a command.
    const std::string odd("\r\n$5\r\n*1\0\xff'; FLUSHALL", 22);
    co_await store.set(odd, odd);
    const auto same = co_await store.get(odd);
    EXPECT_EQ(same, odd);
    const std::string large(3'000'000, 'x');
    co_await store.set("large", large);
    const auto large_again = co_await store.get("large");
    EXPECT_EQ(large_again, large);
    const std::int64_t count = co_await store.increment("count", 5);
    EXPECT_EQ(count, 5);
    co_await store.command("RPUSH", "list", 1, 2.5, "c");
    const redis::value list = co_await store.command("LRANGE", "list", 0, -1);
    EXPECT_EQ(list.size(), 3U);
    EXPECT_EQ(list[0].number(), 1);
    EXPECT_EQ(list[1].text(), "2.5");
    EXPECT_THROW(list[3], weir::db::mapping_error);
    EXPECT_THROW(list.number(), weir::db::mapping_error);
    const bool removed = co_await store.remove("list");
    EXPECT_TRUE(removed);
    const auto wrong = co_await weir::settle(store.command("INCR", "key"));
    EXPECT_TRUE(wrong.has_error());
    try {
        co_await store.command("LPUSH", "key", "x");
    } catch (const redis::reply_error& error) {
        EXPECT_EQ(error.kind(), "WRONGTYPE");
    }
}

}  // namespace
