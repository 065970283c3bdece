// SPDX-License-Identifier: MIT
// LISTEN and NOTIFY, against a real server.

#include <support/io.hpp>
#include <support/peers/postgres.hpp>

#include <weir/db/pg/database.hpp>
#include <weir/gather.hpp>
#include <weir/spawn.hpp>
#include <weir/testing/assertions.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace weir;
using namespace std::chrono_literals;

const std::string& url() {
    static const std::string result = weir_test::shared_postgres().url();
    return result;
}

task<> notify(pg::database& database, std::string channel, std::string payload) {
    co_await database.execute("SELECT pg_notify($1, $2)", channel, payload);
}

WEIR_IO_TEST(Notification, ReceivesNotifications) {
    pg::database database({.url = url()});
    std::vector<std::string> channels = {"orders", "Odd \"name\"; DROP"};
    auto heard = database.listen(channels);
    auto next = co_await heard.next();
    EXPECT_TRUE(next->missed);
    co_await notify(database, "orders", "17");
    co_await notify(database, "elsewhere", "x");
    co_await notify(database, "Odd \"name\"; DROP", "ü'\"\\");
    next = co_await heard.next();
    EXPECT_EQ(next->channel, "orders");
    EXPECT_EQ(next->payload, "17");
    EXPECT_FALSE(next->missed);
    EXPECT_GT(next->process, 0);
    next = co_await heard.next();
    EXPECT_EQ(next->channel, channels[1]);
    EXPECT_EQ(next->payload, "ü'\"\\");

    // Only what was committed.
    auto undone = [&](pg::transaction& inside) -> task<> {
        co_await inside.query("SELECT pg_notify('orders', 'undone')");
        throw std::out_of_range("mine");
    };
    try {
        co_await database.transaction(undone);
    } catch (const std::out_of_range&) {
    }
    // Many, while the generator is not awaited.
    co_await database.query(
        "SELECT pg_notify('orders', n || repeat('.', 1000)) FROM generate_series(1, 3000) AS n");
    for (int number = 1; number <= 3000; ++number) {
        next = co_await heard.next();
        WEIR_ASSERT_EQ(next->payload.substr(0, next->payload.find('.')), std::to_string(number));
    }
    co_await heard.close();
    co_await database.close();
}

WEIR_IO_TEST(Notification, ReconnectsAndReportsAGap) {
    pg::database database({.url = url()});
    auto heard = database.listen("again", {.reconnect_after = 10ms});
    for (int round = 0; round < 5; ++round) {
        auto next = co_await heard.next();
        EXPECT_TRUE(next->missed) << round;
        co_await notify(database, "again", std::to_string(round));
        next = co_await heard.next();
        EXPECT_EQ(next->payload, std::to_string(round));
        const auto ended = co_await database.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN "
            "\"again\"%'");
        EXPECT_EQ(ended.size(), 1U);
    }
    // The listener probes the server now and then.
    auto quiet = database.listen("quiet", {.check_every = 5ms});
    auto next = co_await quiet.next();
    auto later = spawn([&]() -> task<> {
        co_await sleep(60ms);
        co_await notify(database, "quiet", "at last");
    });
    next = co_await quiet.next();
    EXPECT_EQ(next->payload, "at last");
    co_await std::move(later);
    // A stop ends it.
    bool is_late = false;
    try {
        co_await timeout(20ms, quiet.next());
    } catch (const timed_out&) {
        is_late = true;
    }
    EXPECT_TRUE(is_late);
    co_await database.close();
}

WEIR_IO_TEST(Notification, RefusesInvalidOptions) {
    const auto refusal = [](const std::string& channel, pg::listen_options options) -> std::string {
        try {
            static_cast<void>(pg::listen({.url = "postgresql://127.0.0.1:1/x"}, channel, options));
            return "";
        } catch (const invalid_argument& error) {
            return error.what();
        }
    };
    EXPECT_EQ(refusal("", {}),
              "pg: a channel has a name of 0 bytes; it must have 1 to 63, and no NUL");
    EXPECT_EQ(refusal(std::string(64, 'x'), {}),
              "pg: a channel has a name of 64 bytes; it must have 1 to 63, and no NUL");
    EXPECT_EQ(refusal(std::string("a\0b", 3), {}),
              "pg: a channel has a name of 3 bytes; it must have 1 to 63, and no NUL");
    EXPECT_EQ(refusal("x", {.check_every = 0s}), "pg: check_every is 0 ns; it must be more than 0");
    auto nowhere = pg::listen({.url = "postgresql://127.0.0.1:1/x"}, "x");
    bool is_refused = false;
    try {
        const auto next = co_await nowhere.next();
    } catch (const pg::connection_error&) {
        is_refused = true;
    }
    EXPECT_TRUE(is_refused);
}

}  // namespace
