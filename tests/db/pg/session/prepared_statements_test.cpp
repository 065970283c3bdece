// SPDX-License-Identifier: MIT
// Prepared statements are found by their SQL, evicted, and deallocated.

#include "db/pg/session/prepared_statements.hpp"

#include <gtest/gtest.h>

namespace {

using weir::pg::detail::prepared_statements;

TEST(PreparedStatements, AreNewOnce) {
    prepared_statements statements(2);
    const auto first = statements.use("SELECT 1");
    EXPECT_TRUE(first.is_new);
    EXPECT_STREQ(first.name, "weir_1");
    const auto again = statements.use("SELECT 1");
    EXPECT_FALSE(again.is_new);
    EXPECT_EQ(again.number, first.number);
}

TEST(PreparedStatements, TheLeastRecentlyUsedIsEvicted) {
    prepared_statements statements(2);
    statements.use("a");
    statements.use("b");
    statements.use("a");
    statements.use("c");
    EXPECT_EQ(statements.size(), 2u);
    EXPECT_EQ(statements.take_deallocations(), std::vector<std::string>{"weir_2"});
    EXPECT_FALSE(statements.has_deallocations());
    EXPECT_FALSE(statements.use("a").is_new);
    EXPECT_TRUE(statements.use("b").is_new);
}

TEST(PreparedStatements, OnlyDiscardedOnesAreDeallocated) {
    prepared_statements statements(4);
    const auto unknown = statements.use("a").number;
    const auto known = statements.use("b").number;
    statements.forget(unknown);
    EXPECT_FALSE(statements.has_deallocations());
    statements.discard(known);
    EXPECT_EQ(statements.take_deallocations(), std::vector<std::string>{"weir_2"});
    EXPECT_EQ(statements.size(), 0u);
    statements.use("c");
    statements.clear();
    EXPECT_TRUE(statements.use("c").is_new);
}

}  // namespace
