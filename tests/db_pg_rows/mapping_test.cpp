// SPDX-License-Identifier: MIT
// Parameters go to a real server and come back as what they were.

#include "support.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using namespace std::chrono_literals;
using namespace weir;
using pg_test::failed_query;
using pg_test::plain_connection;
using std::chrono::microseconds;
using std::chrono::sys_time;
using std::chrono::system_clock;

struct user {
    std::int64_t id;
    std::string name;
    std::optional<double> score;
};

TEST(PgMapping, rows_become_structs) {
    plain_connection server;
    const pg::rows found = server.query(
        "SELECT * FROM (VALUES (1::bigint, 'Ann', 1.5::float8), (2, 'Bob', NULL)) AS v(id, name, "
        "score)");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.columns(), (std::vector<std::string>{"id", "name", "score"}));
    const std::vector<user> users = found.as<user>();
    EXPECT_EQ(users[0].id, 1);
    EXPECT_EQ(users[0].name, "Ann");
    EXPECT_EQ(users[0].score, 1.5);
    EXPECT_EQ(users[1].score, std::nullopt);
    EXPECT_EQ(found[1].get<std::string_view>("name"), "Bob");
    EXPECT_EQ(found.first<user>()->name, "Ann");
    EXPECT_EQ(server.query("SELECT 7").one<int>(), 7);
    EXPECT_EQ(server.query("SELECT 7 WHERE false").first<int>(), std::nullopt);
}

}  // namespace
