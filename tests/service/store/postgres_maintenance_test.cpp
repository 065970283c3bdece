// SPDX-License-Identifier: MIT
// Dead rows and large indexes, which autovacuum is kept from cleaning up.

#include "service/store/postgres/pg_maintenance.hpp"
#include "stores.hpp"

#include <weir/service/postgres_store.hpp>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace store_test;
using detail::pg_link;
using detail::pg_maintainer;
using detail::pg_maintenance_limits;
using detail::pg_settings;

pg_settings settings_of(const std::string& schema) {
    postgres_store_options options;
    options.schema = schema;
    return {weir_test::shared_postgres().url(), options};
}

// Rows below these are too few to be worth the trouble; here they are enough.
pg_maintenance_limits small_limits() {
    pg_maintenance_limits limits;
    limits.pause = 50ms;
    limits.after_vacuum = 0s;
    limits.dead_rows = 100;
    limits.index_bytes = 500'000;
    return limits;
}

// A table "Load" of 100,000 rows, of which 2,000 are left.
class worn_table {
public:
    explicit worn_table(std::string schema)
        : settings(settings_of(schema)), schema_(std::move(schema)), link_(settings, "test") {
        link_.open();
        link_.script("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE; CREATE SCHEMA " + schema_);
        link_.script("CREATE TABLE " + table() +
                     "(id bigint PRIMARY KEY) WITH (autovacuum_enabled = off)");
        link_.script("INSERT INTO " + table() + " SELECT generate_series(1, 100000)");
        link_.script("DELETE FROM " + table() + " WHERE id % 50 <> 0");
        wait_for_dead_rows(98'000);
    }
    worn_table(const worn_table&) = delete;
    worn_table& operator=(const worn_table&) = delete;
    ~worn_table() { link_.script("DROP SCHEMA IF EXISTS " + schema_ + " CASCADE"); }

    std::vector<std::string> maintain(const pg_maintenance_limits& limits) {
        return detail::maintain_tables(link_, schema_, limits);
    }
    std::int64_t ask(const std::string& sql) { return link_.ask(sql).one<std::int64_t>(); }
    void run(const std::string& sql) { link_.script(sql); }
    std::int64_t dead_rows() {
        return ask("SELECT n_dead_tup FROM pg_stat_all_tables WHERE schemaname = '" + schema_ +
                   "' AND relname = 'Load'");
    }
    // The server counts them a moment later.
    void wait_for_dead_rows(std::int64_t count) {
        for (int i = 0; i < 5000 && dead_rows() != count; ++i) {
            std::this_thread::sleep_for(1ms);
        }
        EXPECT_EQ(dead_rows(), count);
    }
    std::int64_t index_bytes() {
        return ask("SELECT pg_relation_size('" + schema_ + ".\"Load_pkey\"')");
    }
    std::string table() const { return schema_ + ".\"Load\""; }
    std::string in_schema(const std::string& name) const {
        return "\"" + schema_ + "\".\"" + name + "\"";
    }

    pg_settings settings;

private:
    std::string schema_;
    pg_link link_;
};

TEST(PostgresMaintenance, DeadRowsAndTheSpaceOfTheirEntriesAreFreed) {
    worn_table worn("maintenance_one");
    const std::int64_t before = worn.index_bytes();
    const std::vector<std::string> done = worn.maintain(small_limits());
    const std::vector<std::string> expected{
        "VACUUM (SKIP_LOCKED, ANALYZE) " + worn.in_schema("Load"),
        "REINDEX INDEX CONCURRENTLY " + worn.in_schema("Load_pkey")};
    EXPECT_EQ(done, expected);
    worn.wait_for_dead_rows(0);
    EXPECT_LT(worn.index_bytes(), before / 10);
    EXPECT_EQ(worn.ask("SELECT count(*) FROM " + worn.table()), 2000);
    EXPECT_EQ(worn.maintain(small_limits()), std::vector<std::string>());
}

TEST(PostgresMaintenance, WhatIsSmallOrWasVacuumedLatelyIsLeftAlone) {
    worn_table worn("maintenance_two");
    EXPECT_EQ(worn.maintain({}),
              std::vector<std::string>({"VACUUM (SKIP_LOCKED, ANALYZE) " + worn.in_schema("Load")}))
        << "its index is smaller than those that count";
    worn.wait_for_dead_rows(0);
    worn.run("INSERT INTO " + worn.table() + " SELECT generate_series(200001, 300000)");
    worn.run("DELETE FROM " + worn.table() + " WHERE id > 200000");
    worn.wait_for_dead_rows(100'000);
    EXPECT_EQ(worn.maintain({}), std::vector<std::string>()) << "vacuumed a moment ago";
}

// A REINDEX that was interrupted leaves an index that is kept up to date for nobody.
TEST(PostgresMaintenance, BrokenIndexesAreRemoved) {
    worn_table worn("maintenance_three");
    worn.run("CREATE INDEX \"Load_pkey_ccnew1\" ON " + worn.table() + "(id)");
    worn.run("UPDATE pg_index SET indisvalid = false WHERE indexrelid = '" +
             worn.in_schema("Load_pkey_ccnew1") + "'::regclass");
    const std::vector<std::string> done = worn.maintain({});
    EXPECT_EQ(std::ranges::count(
                  done, "DROP INDEX CONCURRENTLY IF EXISTS " + worn.in_schema("Load_pkey_ccnew1")),
              1);
    EXPECT_EQ(worn.ask("SELECT count(*) FROM pg_class WHERE relname = 'Load_pkey_ccnew1'"), 0);
}

TEST(PostgresMaintenance, ItLooksByItselfAndEndsAtOnce) {
    worn_table worn("maintenance_four");
    for (int round = 0; round < 20; ++round) {
        const pg_maintainer brief(worn.settings, small_limits());
        std::this_thread::sleep_for(round * 5ms);  // it waits, connects, or cleans up
    }
    const pg_maintainer here(worn.settings, small_limits());
    worn.wait_for_dead_rows(0);
}

// What one look cannot do, such as with a table that somebody locks, is left to the next.
TEST(PostgresMaintenance, ALockedTableHoldsNothingUp) {
    worn_table worn("maintenance_five");
    pg_link other(worn.settings, "other");
    other.open();
    other.script("BEGIN; LOCK TABLE " + worn.table() + " IN SHARE MODE");
    worn.maintain({});
    EXPECT_EQ(worn.dead_rows(), 98'000);
    other.script("COMMIT");
    EXPECT_EQ(worn.maintain({}).size(), 1U);
    worn.wait_for_dead_rows(0);
}

}  // namespace
