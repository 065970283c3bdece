// SPDX-License-Identifier: MIT
// The tables are those of the SQLite store, with the same versions: see sqlite/file/schema.cpp. Two
// rows and a table are added: `meta` has the version and the row that writers lock, and `writers`
// has the last transaction that each store has committed, so that a store whose COMMIT was not
// answered can find out what became of it.
//
// Tables of queues are updated all the time: pages have room for new versions of their rows, and
// autovacuum comes early and does not sleep long.

#include "service/store/postgres/pg_schema.hpp"

#include "service/store/sqlite/file/schema.hpp"

#include <weir/service/store.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weir::service::detail {

namespace {

constexpr int oldest_server = 12'00'00;

constexpr const char* own_tables = R"sql(
INSERT INTO meta VALUES('weir_task_store', 0);
INSERT INTO meta VALUES('lock', 0);
CREATE TABLE writers(
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL) WITHOUT ROWID;
)sql";

constexpr const char* storage_options =
    "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, "
    "autovacuum_vacuum_cost_delay = 1, autovacuum_analyze_scale_factor = 0.05";

[[noreturn]] void refuse(const std::string& why) {
    throw store_unavailable(why, db::retry_advice::no);
}

void check_server(pg_link& link) {
    const pg::rows found = link.ask(
        "SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4, "
        "pg_catalog.current_setting('server_version'), pg_catalog.pg_is_in_recovery(), "
        "pg_catalog.current_setting('server_encoding')");
    const pg::row row = found[0];
    if (row.get<int>(0) < oldest_server) {
        refuse("the PostgreSQL server has version " + row.get<std::string>(1) +
               ": the task store needs version 12 or newer");
    }
    if (row.get<bool>(2)) {
        throw store_unavailable(
            "the PostgreSQL server is a standby, which takes no writes: name the primary, or "
            "all servers with target_session_attrs=read-write in the URL",
            db::retry_advice::yes);
    }
    if (row.get<std::string>(3) != "UTF8") {
        refuse("the database has the encoding " + row.get<std::string>(3) +
               ": the task store needs UTF8");
    }
}

// 0: no tables yet.
std::int64_t find_version(pg_link& link, const postgres_store_options& options) {
    const std::string name = "'" + options.schema + "'";
    const pg::rows tables = link.ask(
        "SELECT relname::pg_catalog.text FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON "
        "pg_namespace.oid = relnamespace WHERE nspname = " +
        name + " AND relkind IN ('r', 'v', 'p', 'm', 'f')");
    if (tables.empty()) {
        return 0;
    }
    const std::vector<std::string> names = tables.as<std::string>();
    const auto has = [&](std::string_view table) {
        return std::ranges::find(names, table) != names.end();
    };
    if (has("meta") && has("writers") && has("tasks")) {
        const pg::rows version = link.ask("SELECT value FROM " + link.dialect().schema() +
                                          ".meta WHERE name = 'weir_task_store'");
        if (!version.empty()) {
            return version[0].get<std::int64_t>(0);
        }
    }
    refuse("the schema " + options.schema +
           " of the database has tables of another program, such "
           "as " +
           names.front() + ": choose another schema for the task store");
}

void run_steps(pg_link& link, std::int64_t found) {
    const std::span<const char* const> steps = schema_steps();
    const std::string& schema = link.dialect().schema();
    std::string sql;
    if (found == 0) {
        sql += "CREATE SCHEMA IF NOT EXISTS " + schema + ";\n";
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
        // Also of former steps, whose tables the indexes of later ones refer to.
        const std::string step = link.dialect().script(steps[i]);
        if (i >= static_cast<std::size_t>(found)) {
            sql += step;
        }
        if (i == 0 && found == 0) {
            sql += link.dialect().script(own_tables);
        }
    }
    sql += "UPDATE " + schema + ".meta SET value = " + std::to_string(steps.size()) +
           " WHERE name = 'weir_task_store';\n";
    for (const char* const table :
         {"tasks", "queues", "flows", "branches", "destinations", "nodes", "workers", "writers"}) {
        sql += "ALTER TABLE " + schema + "." + table + " SET (" + storage_options + ");\n";
    }
    link.script(sql);
}

}  // namespace

void prepare_schema(pg_link& link, const postgres_store_options& options) {
    check_server(link);
    const std::int64_t newest = newest_schema();
    std::int64_t found = find_version(link, options);
    if (found < newest) {
        link.begin_writing(true);
        try {
            link.ask("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('weir " +
                     options.schema + "'))");
            found = find_version(link, options);
            if (found < newest) {
                run_steps(link, found);
            }
            link.commit();
        } catch (...) {
            link.roll_back();
            throw;
        }
    } else if (found > newest) {
        refuse("the schema " + options.schema + " has tables of version " + std::to_string(found) +
               ", and this program supports versions up to " + std::to_string(newest) +
               ": use a newer program");
    }
    // A read-only database and missing privileges show here, and not at the first task.
    link.begin_writing(true);
    try {
        link.execute("UPDATE meta SET value = value + 1 WHERE name = 'probes'");
        // Stores that have not written for a month are gone.
        link.execute(
            "DELETE FROM writers WHERE at < extract(epoch from clock_timestamp()) - 30 * 86400");
        link.commit();
    } catch (...) {
        link.roll_back();
        throw;
    }
}

void throw_as_unavailable(const pg::error& error, const std::string& schema) {
    const std::string_view state = error.sqlstate();
    const std::string_view kind = state.substr(0, 2);
    const std::string what = std::string("the task store in PostgreSQL: ") + error.what();
    if (state == "25006") {
        throw store_unavailable("the database is read-only: " + std::string(error.what()),
                                db::retry_advice::yes);
    }
    if (state == "23514") {  // the fence of move_marks.cpp: there is no other such constraint
        throw store_unavailable("this task store was moved to another database",
                                db::retry_advice::no);
    }
    if (state == "42501") {
        throw store_unavailable(
            "the role of the URL lacks privileges: " + std::string(error.what()) +
                "; as an administrator: CREATE SCHEMA " + quoted_name(schema) +
                " AUTHORIZATION the_role",
            db::retry_advice::no);
    }
    if (state == "28P01" || state == "28000" || state == "3D000") {
        throw store_unavailable(what, db::retry_advice::no);
    }
    if (state.empty() || kind == "08" || kind == "25" || kind == "40" || kind == "42" ||
        kind == "53" || kind == "55" || kind == "57" || kind == "58" || kind == "XX") {
        throw store_unavailable(what, error.advice() == db::retry_advice::no
                                          ? db::retry_advice::if_harmless
                                          : error.advice());
    }
    throw error;
}

}  // namespace weir::service::detail
