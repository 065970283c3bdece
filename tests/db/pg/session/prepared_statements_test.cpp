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
    EXPECT_STREQ(first.name, "weir_e004ebd5b5532a4b85984a62f8ad48a8");  // of SHA-256
    const auto again = statements.use("SELECT 1");
    EXPECT_FALSE(again.is_new);
    EXPECT_EQ(again.number, first.number);
}

TEST(PreparedStatements, TheLeastRecentlyUsedIsEvicted) {
    prepared_statements statements(2);
    statements.use("a");
    const std::string evicted = statements.use("b").name;
    statements.use("a");
    statements.use("c");
    EXPECT_EQ(statements.size(), 2u);
    EXPECT_EQ(statements.use("b").name, nullptr);  // the server still has it
    EXPECT_EQ(statements.take_deallocations(), std::vector<std::string>{evicted});
    EXPECT_FALSE(statements.has_deallocations());
    EXPECT_FALSE(statements.use("a").is_new);
    EXPECT_TRUE(statements.use("b").is_new);
}

TEST(PreparedStatements, OnlyDiscardedOnesAreDeallocated) {
    prepared_statements statements(4);
    const auto unknown = statements.use("a").number;
    const auto known = statements.use("b");
    const std::string name = known.name;
    statements.forget(unknown);
    EXPECT_FALSE(statements.has_deallocations());
    statements.discard(known.number);
    EXPECT_EQ(statements.take_deallocations(), std::vector<std::string>{name});
    EXPECT_EQ(statements.size(), 0u);
    statements.use("c");
    statements.clear();
    EXPECT_TRUE(statements.use("c").is_new);
}

TEST(PreparedStatements, AConnectionOfAnotherClientHasTheSameNames) {
    prepared_statements one(8);
    prepared_statements other(8);
    other.use("DELETE FROM victims");
    EXPECT_STREQ(one.use("SELECT 1").name, other.use("SELECT 1").name);
    EXPECT_STRNE(one.use("SELECT 1").name, other.use("DELETE FROM victims").name);
}

}  // namespace
