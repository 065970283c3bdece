// SPDX-License-Identifier: MIT
// Statements for many rows on PostgreSQL: their SQL, and what they read of the tables.

#include "service/store/postgres/pg_many_rows.hpp"

#include "stores.hpp"

namespace {

using namespace store_test;
using detail::pg_many_rows;
using detail::sql_session;
using detail::sql_values;

using sets = std::vector<sql_values>;

TEST(PgManyRows, AnInsertUnnestsWhatDiffers) {
    pg_many_rows insert(
        "INSERT INTO \"s\".t(a, b, c) VALUES ($1, $2, lower($3)) ON CONFLICT DO NOTHING");
    const sets rows = {sql_session::values_of(1, "x", nullptr),
                       sql_session::values_of(2, "x", "it's \"1\"")};
    const pg_many_rows::request made = insert.make(rows);
    EXPECT_EQ(made.sql,
              "INSERT INTO \"s\".t(a, b, c) SELECT q.p1, $2, lower(q.p3) FROM unnest($1::bigint[], "
              "$3::text[]) AS q(p1, p3) ON CONFLICT DO NOTHING");
    ASSERT_EQ(made.parameters.size(), 3U);
    EXPECT_EQ(*made.parameters[0].text(), "{1,2}");
    EXPECT_EQ(*made.parameters[1].text(), "x");
    EXPECT_EQ(*made.parameters[2].text(), "{NULL,\"it's \\\"1\\\"\"}");
    // What has differed once stays an array, so that few statements are prepared.
    const sets same = {sql_session::values_of(3, "x", "y"), sql_session::values_of(3, "x", "y")};
    EXPECT_EQ(insert.make(same).sql, made.sql);
}

TEST(PgManyRows, AnUpdateFindsItsRowsByKeyOrByTheirPlace) {
    pg_many_rows update("UPDATE \"s\".t SET a = $1, b = coalesce($2, b), c = '$1' WHERE id = $3");
    const sets alike = {sql_session::values_of(1, 0.5, 10), sql_session::values_of(1, 0.5, 11)};
    EXPECT_EQ(update.make(alike).sql,
              "UPDATE \"s\".t SET a = $1, b = coalesce($2, b), c = '$1' WHERE id = "
              "ANY($3::bigint[])");
    const sets different = {sql_session::values_of(1, 0.5, 10), sql_session::values_of(1, 2, 11)};
    EXPECT_EQ(update.make(different).sql,
              "UPDATE \"s\".t SET a = $1, b = coalesce(q.p2, b), c = '$1' FROM unnest($2::double "
              "precision[], $3::bigint[]) AS q(p2, p3) CROSS JOIN LATERAL (SELECT ctid AS place "
              "FROM \"s\".t WHERE id = q.p3 OFFSET 0) AS x WHERE t.ctid = x.place");
}

TEST(PgManyRows, AnUpdateReturnsWhatItIsAskedFor) {
    pg_many_rows update("UPDATE \"s\".t SET a = $1 WHERE id = $2 AND run = $3 RETURNING id, b");
    const sets alike = {sql_session::values_of(1, 10, 7), sql_session::values_of(1, 11, 7)};
    EXPECT_EQ(
        update.make(alike).sql,
        "UPDATE \"s\".t SET a = $1 WHERE id = ANY($2::bigint[]) AND run = $3 RETURNING id, b");
    const sets different = {sql_session::values_of(1, 10, 7), sql_session::values_of(1, 11, 8)};
    EXPECT_EQ(
        update.make(different).sql,
        "UPDATE \"s\".t SET a = $1 FROM unnest($2::bigint[], $3::bigint[]) AS q(p2, p3) CROSS "
        "JOIN LATERAL (SELECT ctid AS place FROM \"s\".t WHERE id = q.p2 AND run = q.p3 "
        "OFFSET 0) AS x WHERE t.ctid = x.place RETURNING id, b");
}

// Only a parameter that a condition compares with a column alone can be an array.
TEST(PgManyRows, AParameterThatStandsTwiceIsNoKey) {
    pg_many_rows twice("UPDATE \"s\".t SET a = $1 WHERE id = $1");
    const sets rows = {sql_session::values_of(1), sql_session::values_of(2)};
    EXPECT_EQ(twice.make(rows).sql,
              "UPDATE \"s\".t SET a = q.p1 FROM unnest($1::bigint[]) AS q(p1) CROSS JOIN LATERAL "
              "(SELECT ctid AS place FROM \"s\".t WHERE id = q.p1 OFFSET 0) AS x WHERE t.ctid = "
              "x.place");
    pg_many_rows longer("UPDATE \"s\".t SET a = $1 WHERE b = $11 AND id = $2");
    const sets eleven = {sql_session::values_of(1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5),
                         sql_session::values_of(1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 5)};
    EXPECT_EQ(longer.make(eleven).sql,
              "UPDATE \"s\".t SET a = $1 WHERE b = $11 AND id = ANY($2::bigint[])");
}

TEST(PgManyRows, AQueryNumbersItsSets) {
    pg_many_rows query("SELECT a FROM \"s\".t WHERE line = $1 ORDER BY id LIMIT $2");
    const sets lines = {sql_session::values_of(8, 5), sql_session::values_of(16, 5)};
    EXPECT_EQ(query.make(lines).sql,
              "SELECT q.n, x.* FROM unnest($1::bigint[]) WITH ORDINALITY AS q(p1, n) CROSS JOIN "
              "LATERAL (SELECT a FROM \"s\".t WHERE line = q.p1 ORDER BY id LIMIT $2 OFFSET 0) AS "
              "x");
}

task<> run_all(bench& at, std::size_t batch, std::size_t count) {
    co_await at.beat("a", 1h);
    for (std::size_t done = 0; done < count;) {
        const claimed got = co_await at.claim(batch);
        WEIR_ASSERT_FALSE(got.tasks.empty());
        std::vector<settlement> ended;
        for (const task_record& each : got.tasks) {
            ended.push_back(bench::ending(each, task_state::completed));
            ended.back().result = std::to_string(each.id.number());
        }
        done += ended.size();
        const std::vector<bool> written = co_await at.kept->settle("a", std::move(ended), at.now);
        EXPECT_EQ(std::ranges::count(written, true), std::ssize(written));
    }
}

// The plans were made for empty tables, and a snapshot keeps all rows that were changed or removed
// since: neither makes a claim read more than the tasks that it takes.
TEST(PgManyRows, ReadsNoMoreWithStaleStatisticsAndAHeldSnapshot) {
    run_on(all_stores().back(), [](bench& at) -> task<> {
        const std::string schema = schema_of(at.folder.path().string());
        const std::string url = weir_test::shared_postgres().url();
        weir::pg::connection holder = co_await weir::pg::connect({.url = url});
        co_await holder.script("ANALYZE \"" + schema + "\".tasks");
        co_await at.submit_many(2, "some key");
        co_await run_all(at, 1, 2);
        co_await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
        co_await holder.query("SELECT count(*) FROM pg_class");
        constexpr std::size_t total = 2000;
        for (std::size_t i = 0; i < total; i += 500) {
            co_await at.submit_many(500);
        }
        co_await run_all(at, 50, total);
        co_await at.kept->close();  // the server counts what a connection has read when it ends
        weir::pg::connection server = co_await weir::pg::connect({.url = url});
        const std::string count_sql =
            "SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes WHERE "
            "schemaname = $1 AND indexrelname = $2";
        std::int64_t by_line = 0;
        std::int64_t by_key = 0;
        for (int tries = 0; tries < 100 && by_key < std::int64_t{total}; ++tries) {
            co_await weir::sleep(20ms);
            const auto lines = co_await server.query(count_sql, schema, "tasks_line");
            const auto keys = co_await server.query(count_sql, schema, "tasks_pkey");
            by_line = lines.one<std::int64_t>();
            by_key = keys.one<std::int64_t>();
        }
        EXPECT_GE(by_line, std::int64_t{total});
        EXPECT_LE(by_line, 3 * std::int64_t{total});
        EXPECT_LE(by_key, 12 * std::int64_t{total});
        const auto scans = co_await server.query(
            "SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = "
            "'tasks'",
            schema);
        EXPECT_LE(scans.one<std::int64_t>(), std::int64_t{total});
        co_await holder.query("ROLLBACK");
        at.kept = co_await open_postgres(at.folder.path().string());
    });
}

// Claims remember where a line begins; what enters before that is found at once, also if another
// node has added it.
TEST(PgManyRows, TasksBeforeTheHeadOfALineAreFound) {
    run_on(all_stores().back(), [](bench& at) -> task<> {
        const std::vector<task_id> ids = co_await at.submit_many(6);
        co_await at.beat("a", 1h);
        const claimed first = co_await at.claim(2);
        WEIR_ASSERT_EQ(first.tasks.size(), 2U);
        const std::unique_ptr<store> other = co_await open_postgres(at.folder.path().string());
        settlement retried = bench::ending(first.tasks[0], task_state::pending);
        retried.due_at = at.now;
        std::vector<settlement> ended(1, retried);
        const std::vector<bool> written = co_await other->settle("a", std::move(ended), at.now);
        EXPECT_TRUE(written.at(0));
        new_task urgent = bench::make();
        urgent.priority = 5;
        std::vector<new_task> fresh(1, urgent);
        const std::vector<submit_result> made = co_await other->submit(std::move(fresh), at.now);
        const claimed next = co_await at.claim(3);
        WEIR_ASSERT_EQ(next.tasks.size(), 3U);
        EXPECT_EQ(next.tasks[0].id, made.at(0).id);
        EXPECT_EQ(next.tasks[1].id, ids[0]);
        EXPECT_EQ(next.tasks[2].id, ids[2]);
        co_await other->close();
    });
}

}  // namespace
