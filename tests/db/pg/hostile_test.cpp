// SPDX-License-Identifier: MIT
// Hostile values and hostile SQL over a connection that many share: each is answered or refused
// alone, other queries in the pipeline are not affected, and no message contains the values.

#include <support/io.hpp>
#include <support/peers/postgres.hpp>

#include <weir/db/pg/database.hpp>
#include <weir/group.hpp>
#include <weir/testing/assertions.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
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

// The SQLSTATE, or "refused" if it was not even sent; what was said goes to `said`.
task<std::string> state_of(pg::database& database, std::string sql,
                           std::vector<pg::parameter> parameters, std::string& message) {
    try {
        co_await database.query(std::move(sql), std::move(parameters));
        co_return "answered";
    } catch (const pg::error& error) {
        message = error.what();
        co_return std::string(error.sqlstate());
    }
}

struct attack {
    const char* sql;
    std::vector<pg::parameter> parameters;
    const char* state;
};

WEIR_IO_TEST(PgHostile, NeighboursDoNotNotice) {
    pg::database database({.url = url()}, {.pool = {.max = 2}, .shared = 1});
    const auto first = co_await database.query("SELECT pg_backend_pid()");
    std::vector<attack> attacks;
    attacks.push_back({"SELECT $1::text", {"secret \xff"}, "22021"});
    attacks.push_back({"SELECT $1::int", {"secret'; DROP TABLE users; --"}, "22P02"});
    attacks.push_back({"SELECT $1::int", {std::numeric_limits<std::int64_t>::max()}, "22003"});
    attacks.push_back({"SELECT $1::int", {pg::blob(5)}, "22P03"});
    attacks.push_back({"SELECT $1::text", {pg::blob(3)}, "22021"});
    attacks.push_back({"SELECT $1::int[]", {"{secret"}, "22P02"});
    attacks.push_back({"SELECT $1::timestamptz", {"secret day"}, "22007"});
    attacks.push_back({"SELECT $1::json", {"{secret"}, "22P02"});
    attacks.push_back({"SELECT $1::int, $2::int", {1}, "08P01"});
    attacks.push_back({"SELECT 1", {1}, "08P01"});
    attacks.push_back({"SELECT 1; SELECT 2", {}, "42601"});
    attacks.push_back({"SELECT 'open", {}, "42601"});
    attacks.push_back({"SELECT $1", {"'; DROP TABLE users"}, "answered"});
    attacks.push_back({"", {}, "answered"});
    attacks.push_back({"COPY (SELECT 1) TO STDOUT", {}, ""});
    int right = 0;
    const auto good = [&](int number) -> task<> {
        const auto found = co_await database.query("SELECT $1::int * 2", number);
        right += found.one<int>() == 2 * number ? 1 : 0;
    };
    const auto bad = [&](const attack& each) -> task<> {
        std::string message;
        const std::string state = co_await state_of(database, each.sql, each.parameters, message);
        EXPECT_EQ(state, each.state) << each.sql << ": " << message;
        EXPECT_EQ(message.find("secret"), std::string::npos) << message;
    };
    for (int round = 0; round < 3; ++round) {
        // The last one may cost the connection, and is tried alone.
        co_await with_group([&](task_group& group) -> task<> {
            for (std::size_t index = 0; index + 1 < attacks.size(); ++index) {
                group.spawn(good(static_cast<int>(index)));
                group.spawn(bad(attacks[index]));
                group.spawn(good(static_cast<int>(index) + 100));
            }
            co_return;
        });
    }
    EXPECT_EQ(right, 3 * 2 * 14);
    const auto last = co_await database.query("SELECT pg_backend_pid()");
    EXPECT_EQ(last.one<int>(), first.one<int>());

    // COPY where rows are expected.
    std::string message;
    const std::string state =
        co_await timeout(5s, state_of(database, attacks.back().sql, {}, message));
    EXPECT_NE(state, "answered");
    co_await good(7);
    co_await database.close();
}

WEIR_IO_TEST(PgHostile, WhatIsRefusedIsNotSent) {
    pg::database database({.url = url()});
    std::string refused;
    try {
        co_await database.query("SELECT $1::text, $2::text", "x", std::string("a\0b", 3));
    } catch (const db::mapping_error& error) {
        refused = error.what();
    }
    EXPECT_EQ(refused.substr(0, 27), "parameter $2 contains a NUL");
    refused.clear();
    try {
        co_await database.query(std::string("SELECT 1\0; DROP TABLE users", 27));
    } catch (const invalid_argument& error) {
        refused = error.what();
    }
    EXPECT_NE(refused, "");
    EXPECT_EQ(database.stats().queries, 0U);
    co_await database.close();
}

WEIR_IO_TEST(PgHostile, HugeOnesAmongSmallOnes) {
    pg::database database({.url = url(), .cancel_timeout = 15s}, {.pool = {.max = 1}, .shared = 1});
    std::string text(10'000'000, 'x');
    for (std::size_t at = 0; at < text.size(); at += 1000) {
        text[at] = "'\"\\{},"[at / 1000 % 6];
    }
    int right = 0;
    const auto small = [&](int number) -> task<> {
        const auto found = co_await database.query("SELECT $1::int", number);
        right += found.one<int>() == number ? 1 : 0;
    };
    const auto huge = [&]() -> task<> {
        const auto found = co_await database.query("SELECT $1::text, length($1)", text);
        right +=
            found[0].get<std::string_view>(0) == text && found[0].get<std::size_t>(1) == text.size()
                ? 1
                : 0;
    };
    co_await with_group([&](task_group& group) -> task<> {
        for (int number = 0; number < 20; ++number) {
            group.spawn(small(number));
            if (number % 10 == 3) {
                group.spawn(huge());
            }
        }
        co_return;
    });
    EXPECT_EQ(right, 22);
    // Stopped while it is being sent: the rest follows, and the connection is as good as before.
    const auto first = co_await database.query("SELECT pg_backend_pid()");
    for (const auto limit : {0us, 500us, 3000us, 20'000us}) {
        try {
            co_await timeout(limit, huge());
        } catch (const timed_out&) {
        }
        right = 0;
        co_await small(1);
        EXPECT_EQ(right, 1);
    }
    const auto last = co_await database.query("SELECT pg_backend_pid()");
    EXPECT_EQ(last.one<int>(), first.one<int>());
    co_await database.close();
}

}  // namespace
