// SPDX-License-Identifier: MIT
// Rows of a real server, read as structs.

#include "support.hpp"

#include <weir/db/pg/error.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace weir;
using namespace std::chrono_literals;
using pg_test::plain_connection;
using pg_test::refusal_of;
using pg_test::user;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::sys_time;
using std::chrono::system_clock;
using microsecond_time = sys_time<std::chrono::microseconds>;

TEST(Rows, BecomeStructs) {
    plain_connection server;
    pg::rows found = server.query(
        "SELECT * FROM (VALUES (1::bigint, 'Ann', 1.5::float8), (2, 'Bob', NULL)) "
        "AS v(id, name, score)");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.columns(), (std::vector<std::string>{"id", "name", "score"}));
    const std::vector<user> users = found.as<user>();
    EXPECT_EQ(users[0].id, 1);
    EXPECT_EQ(users[0].name, "Ann");
    EXPECT_EQ(users[0].score, 1.5);
    EXPECT_EQ(users[1].score, std::nullopt);
    EXPECT_EQ(found.first<user>()->name, "Ann");

    // A row stays good when its rows are moved, or one copy of them goes.
    const pg::row second = found[1];
    std::optional<pg::rows> copy = found;
    const pg::rows moved = std::move(found);
    copy.reset();
    EXPECT_EQ(second.get<std::string_view>("name"), "Bob");
    EXPECT_TRUE(second["score"].is_null());
    EXPECT_EQ(second["id"].type(), 20U);
    std::string names;
    for (const pg::row each : moved) {
        names += each.get<std::string>(1);
    }
    EXPECT_EQ(names, "AnnBob");

    EXPECT_EQ(server.query("SELECT 7").one<int>(), 7);
    EXPECT_EQ(server.query("SELECT 7 WHERE false").first<int>(), std::nullopt);
    EXPECT_EQ(server.query("SELECT NULL::int").first<std::optional<int>>().value(), std::nullopt);
}

TEST(Rows, AreEmptyWithoutRows) {
    const pg::rows nothing;
    EXPECT_TRUE(nothing.empty());
    EXPECT_TRUE(nothing.columns().empty());
    EXPECT_EQ(nothing.affected(), 0U);
    EXPECT_TRUE(nothing.as<user>().empty());
    EXPECT_EQ(nothing.first<int>(), std::nullopt);
    EXPECT_EQ(refusal_of([&] { nothing.one<int>(); }), "one row was expected, but there are 0");
    EXPECT_TRUE(nothing.begin() == nothing.end());
}

TEST(Rows, AffectedCountsChangedRows) {
    plain_connection server;
    server.query("CREATE TEMPORARY TABLE counted (n int)");
    EXPECT_EQ(server.query("INSERT INTO counted SELECT generate_series(1, 70000)").affected(),
              70'000U);
    EXPECT_EQ(server.query("UPDATE counted SET n = n + 1 WHERE n <= 3").affected(), 3U);
    EXPECT_EQ(server.query("DELETE FROM counted WHERE false").affected(), 0U);
    EXPECT_EQ(server.query("SELECT * FROM counted LIMIT 5").affected(), 5U);
    EXPECT_EQ(server.query("SET work_mem = '1MB'").affected(), 0U);
}

}  // namespace
