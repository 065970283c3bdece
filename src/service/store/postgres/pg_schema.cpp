// SPDX-License-Identifier: MIT
// The tables are those of the SQLite store, with the same versions: see sqlite/file/schema.cpp. Two
// rows and a table are added: `meta` has the version and the row that writers lock, and `writers`
// has the last transaction that each store has committed, so that a store whose COMMIT was not
// answered can find out what became of it.
//
// `meta` also has the oldest program that may use the tables, and `writers` the version of each
// program. A step that older programs can live with is made while these run; any other waits until
// none has written for half a minute (each looks for work every second), or is told not to wait.
// Changing a table takes a lock on it, behind which all others queue up, so a step gives up after a
// second and tries again.
//
// Tables of queues are updated all the time: pages have room for new versions of their rows, and
// autovacuum comes early and does not sleep long.

#include "service/store/postgres/pg_schema.hpp"

#include "service/store/sqlite/file/schema.hpp"

#include <weir/service/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weir::service::detail {

namespace {

constexpr int oldest_server = 12'00'00;

constexpr const char* own_tables = R"sql(
INSERT INTO meta VALUES('weir_task_store', 0);
INSERT INTO meta VALUES('lock', 0);
INSERT INTO meta VALUES('oldest_program', 0);
CREATE TABLE writers(
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
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
        "pg_catalog.current_setting('server_version'), "
        "pg_catalog.current_setting('server_encoding')");
    const pg::row row = found[0];
    if (row.get<int>(0) < oldest_server) {
        refuse("the PostgreSQL server has version " + row.get<std::string>(1) +
               ": the task store needs version 12 or newer");
    }
    if (row.get<std::string>(2) != "UTF8") {
        refuse("the database has the encoding " + row.get<std::string>(2) +
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

// Programs of older versions that write now, other than those that can use the newest tables.
std::int64_t count_older_programs(pg_link& link, const pg_versions& versions) {
    constexpr const char* query =
        "SELECT count(*) FROM writers WHERE version < ? AND at > extract(epoch from "
        "clock_timestamp()) - 30";
    return link.query(query, versions.oldest_program).one<std::int64_t>();
}

void run_steps(pg_link& link, const std::string& name, std::int64_t found,
               const pg_versions& versions) {
    const std::span<const char* const> steps = versions.scripts;
    const std::string& schema = link.dialect().schema();
    // CREATE needs a privilege on the database, even if there is nothing to create.
    const bool has_schema =
        !link.ask("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '" + name + "'").empty();
    std::string sql;
    if (found == 0 && !has_schema) {
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
    sql += "UPDATE " + schema + ".meta SET value = " + std::to_string(versions.oldest_program) +
           " WHERE name = 'oldest_program';\n";
    for (const char* const table :
         {"tasks", "queues", "flows", "branches", "destinations", "nodes", "workers", "writers"}) {
        sql += "ALTER TABLE " + schema + "." + table + " SET (" + storage_options + ");\n";
    }
    link.script(sql);
}

// Of stores that were made before there were versions of programs.
void add_columns(pg_link& link) {
    const std::string& schema = link.dialect().schema();
    const pg::rows found =
        link.ask("SELECT count(*) FROM pg_catalog.pg_attribute WHERE attrelid = '" + schema +
                 ".writers'::pg_catalog.regclass AND attname = 'version'");
    if (found.one<std::int64_t>() == 0) {
        link.ask("ALTER TABLE " + schema +
                 ".writers ADD COLUMN IF NOT EXISTS version bigint NOT NULL DEFAULT 0");
    }
}

// False: a table is in use, and it is to be tried again.
bool try_upgrade(pg_link& link, const postgres_store_options& options,
                 const pg_versions& versions) {
    constexpr const char* lock_timed_out = "55P03";
    link.begin_writing();
    try {
        link.ask("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('weir " +
                 options.schema + "'))");
        const std::int64_t found = find_version(link, options);
        if (found > 0 && found < versions.newest()) {
            const std::int64_t older = count_older_programs(link, versions);
            if (older > 0 && !options.upgrades_in_use) {
                throw store_unavailable(
                    "the schema " + options.schema + " has tables of version " +
                        std::to_string(found) + ", and " + std::to_string(older) +
                        " older programs use it that could not use version " +
                        std::to_string(versions.newest()) +
                        ": stop them, and the tables are upgraded half a minute later (or at once, "
                        "by weir serve --migrate)",
                    db::retry_advice::yes);
            }
            link.ask("SET LOCAL lock_timeout = '1s'");
        }
        if (found < versions.newest()) {
            run_steps(link, options.schema, found, versions);
        }
        link.commit();
        return true;
    } catch (const pg::error& error) {
        link.roll_back();
        if (error.sqlstate() != lock_timed_out) {
            throw;
        }
        return false;
    } catch (...) {
        link.roll_back();
        throw;
    }
}

void upgrade(pg_link& link, const postgres_store_options& options, const pg_versions& versions) {
    constexpr int most_attempts = 10;
    for (int attempt = 1; !try_upgrade(link, options, versions); ++attempt) {
        if (attempt == most_attempts) {
            throw store_unavailable(
                "the tables of the schema " + options.schema +
                    " cannot be upgraded: a transaction holds locks on them (pg_stat_activity "
                    "shows which)",
                db::retry_advice::yes);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}

// Tables of a newer version may say that this program can use them.
void check_newer(pg_link& link, const postgres_store_options& options, const pg_versions& versions,
                 std::int64_t found) {
    const sqlite::rows oldest = link.query("SELECT value FROM meta WHERE name = 'oldest_program'");
    if (!oldest.empty() && oldest[0].get<std::int64_t>(0) <= versions.newest()) {
        return;
    }
    throw store_too_new("the schema " + options.schema + " has tables of version " +
                        std::to_string(found) + ", and this program supports versions up to " +
                        std::to_string(versions.newest()) + ": use a newer program");
}

}  // namespace

pg_versions pg_versions::of_this_program() noexcept {
    return {schema_steps(), oldest_compatible_program()};
}

void prepare_schema(pg_link& link, const postgres_store_options& options,
                    const pg_versions& versions) {
    check_server(link);
    const std::int64_t found = find_version(link, options);
    if (found > 0) {
        add_columns(link);
    }
    if (found < versions.newest()) {
        upgrade(link, options, versions);
    } else if (found > versions.newest()) {
        check_newer(link, options, versions, found);
    }
    // A read-only database and missing privileges show here, and not at the first task.
    link.begin_writing();
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

std::string channel_name(pg_link& link, const postgres_store_options& options) {
    std::random_device source;
    const std::int64_t fresh = (static_cast<std::int64_t>(source() & 0x7fffffffU) << 32) | source();
    link.begin_writing();
    try {
        link.execute(
            "INSERT INTO meta(name, value) VALUES ('cluster', ?) ON CONFLICT(name) DO NOTHING",
            fresh);
        const sqlite::rows found = link.query("SELECT value FROM meta WHERE name = 'cluster'");
        link.commit(false);
        constexpr std::size_t longest = 40;  // of 63, with the number
        return "weir_" + options.schema.substr(0, longest) + "_" +
               std::to_string(found[0].get<std::int64_t>(0));
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
        throw store_unavailable("the task store cannot write: " + std::string(error.what()),
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
