// SPDX-License-Identifier: MIT
// Which statements count as reading only.

#include "db/pg/session/statement_kind.hpp"

#include <gtest/gtest.h>

namespace {

using weir::pg::detail::only_reads;

TEST(StatementKind, KnowsWhatOnlyReads) {
    for (const char* const reads :
         {"SELECT 1", "  select pg_sleep($1)", "(SELECT 1)", "VALUES (1)", "TABLE t", "SHOW ALL",
          "WITH a AS (SELECT 1) SELECT * FROM a", "EXPLAIN SELECT 1",
          "SELECT updated_at FROM t ORDER BY inserted"}) {
        EXPECT_TRUE(only_reads(reads)) << reads;
    }
    for (const char* const writes :
         {"INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t", "COMMIT", "CALL p()",
          "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", "SELECT 1 INTO t", "DO $$ $$",
          "SELECT * FROM t FOR UPDATE", "SELECT * FROM t FOR SHARE",
          "EXPLAIN ANALYZE DELETE FROM t", "/* SELECT */ TRUNCATE t",
          "-- SELECT\nUPDATE t SET a = 1", "", "  ", "1"}) {
        EXPECT_FALSE(only_reads(writes)) << writes;
    }
}

}  // namespace
