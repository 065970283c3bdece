// SPDX-License-Identifier: MIT
#include "service/store/postgres/pg_servers.hpp"

#include <gtest/gtest.h>

namespace weir::service::detail {
namespace {

TEST(PgServers, AUrlOfSeveralHostsIsOneForEach) {
    const pg_servers two("postgres://weir:p%40ss@one,two:5433/tasks?sslmode=require");
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two.url(0), "postgres://weir:p%40ss@one/tasks?sslmode=require");
    EXPECT_EQ(two.url(1), "postgres://weir:p%40ss@two:5433/tasks?sslmode=require");
    EXPECT_EQ(two.name(1), "two:5433");
    for (const char* const url : {"postgres://db/tasks", "postgresql:///tasks?host=/run/pg",
                                  "postgres://u@[::1]:5432", "host=a,b dbname=tasks"}) {
        const pg_servers one(url);
        ASSERT_EQ(one.size(), 1U) << url;
        EXPECT_EQ(one.url(0), url);
    }
}

TEST(PgServers, AFormerPrimaryIsRefusedAndOnlyThat) {
    pg_servers servers("postgres://one,two/tasks");
    EXPECT_TRUE(servers.accept(0, {7, 3}).has_value());
    EXPECT_TRUE(servers.accept(1, {7, 4}).has_value());
    EXPECT_FALSE(servers.accept(0, {7, 3}).has_value());
    EXPECT_TRUE(servers.accept(0, {8, 1}).has_value()) << "another cluster, such as a copy";
    EXPECT_TRUE(servers.accept(0, {}).has_value()) << "a server that does not tell";
    EXPECT_NE((pg_history{7, 3}.number()), (pg_history{7, 4}.number()));
    EXPECT_NE((pg_history{7, 3}.number()), (pg_history{8, 3}.number()));
    EXPECT_GT((pg_history{-7, 3}.number()), 0);
}

TEST(PgServers, ALossEndsAGenerationOnce) {
    pg_servers servers("postgres://one,two/tasks");
    const std::uint64_t first = servers.accept(1, {7, 3}).value_or(0);
    EXPECT_EQ(servers.primary(), 1U);
    servers.lose(first);
    EXPECT_NE(servers.generation(), first);
    EXPECT_FALSE(servers.primary().has_value());
    const std::uint64_t second = servers.accept(1, {7, 3}).value_or(0);
    servers.lose(first);  // by another connection, later
    EXPECT_EQ(servers.generation(), second);
    const std::uint64_t third = servers.accept(0, {7, 4}).value_or(0);
    EXPECT_NE(third, second) << "connections to the former primary are left";
}

}  // namespace
}  // namespace weir::service::detail
