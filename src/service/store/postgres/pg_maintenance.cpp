// SPDX-License-Identifier: MIT
// Nothing is noted in tables: the server knows when a table was vacuumed and how large an index is.
// Two nodes that see the same do it once: VACUUM skips what is locked, and REINDEX waits for a lock
// no longer than lock_timeout. A REINDEX that has failed leaves an invalid index, which is removed
// in the next look.

#include "service/store/postgres/pg_maintenance.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace weir::service::detail {

namespace {

std::string number_text(std::int64_t number) {
    return std::to_string(number) + "::pg_catalog.int8";
}

std::string tables_to_vacuum(const std::string& schema, const pg_maintenance_limits& limits) {
    return "SELECT relname::pg_catalog.text FROM pg_catalog.pg_stat_all_tables WHERE schemaname = "
           "'" +
           schema + "' AND n_dead_tup > " + number_text(limits.dead_rows) + " AND n_dead_tup > " +
           std::to_string(limits.dead_part) +
           " * (n_live_tup + n_dead_tup) AND coalesce(greatest(last_vacuum, last_autovacuum), "
           "'-infinity') < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => " +
           std::to_string(limits.after_vacuum.count()) + ") ORDER BY n_dead_tup DESC";
}

// Of a REINDEX that has failed, unless one is under way.
std::string broken_indexes(const std::string& schema) {
    return "SELECT pg_class.relname::pg_catalog.text FROM pg_catalog.pg_index JOIN "
           "pg_catalog.pg_class ON pg_class.oid = indexrelid JOIN pg_catalog.pg_namespace ON "
           "pg_namespace.oid = relnamespace WHERE nspname = '" +
           schema +
           "' AND NOT indisvalid AND relname ~ '_cc(new|old)[0-9]*$' AND NOT EXISTS (SELECT 1 FROM "
           "pg_catalog.pg_stat_progress_create_index AS under_way WHERE under_way.relid = "
           "indrelid)";
}

// An entry has 16 bytes besides its columns; pages that were split are half full at least.
std::string bloated_indexes(const std::string& schema, const pg_maintenance_limits& limits) {
    return "SELECT name FROM (SELECT index.relname::pg_catalog.text AS name, "
           "pg_catalog.pg_relation_size(index.oid) AS size, index.reltuples, (SELECT "
           "sum(coalesce(avg_width, 8)) FROM pg_catalog.unnest(indkey::pg_catalog.int2[]) AS k "
           "JOIN "
           "pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = k LEFT JOIN "
           "pg_catalog.pg_stats ON schemaname = nspname AND tablename = of.relname AND "
           "pg_stats.attname = pg_attribute.attname) AS width FROM pg_catalog.pg_index JOIN "
           "pg_catalog.pg_class AS index ON index.oid = indexrelid JOIN pg_catalog.pg_class AS of "
           "ON of.oid = indrelid JOIN pg_catalog.pg_namespace ON pg_namespace.oid = "
           "index.relnamespace WHERE nspname = '" +
           schema + "' AND indisvalid) AS indexes WHERE reltuples >= 0 AND size > " +
           number_text(limits.index_bytes) + " AND size > " + std::to_string(limits.index_growth) +
           " * (2 * reltuples * (width + 16) + 16384) ORDER BY size DESC";
}

// False: the server refuses, and it is left to the next look.
bool try_to(pg_link& link, const std::string& statement) {
    try {
        link.script(statement, std::chrono::hours(24));
        return true;
    } catch (const pg::connection_error&) {
        throw;
    } catch (const pg::error&) {
        return false;
    }
}

}  // namespace

std::vector<std::string> maintain_tables(pg_link& link, const std::string& schema,
                                         const pg_maintenance_limits& limits) {
    std::vector<std::string> done;
    const std::optional<old_transaction> oldest = link.oldest_transaction();
    if (link.is_pooled() || (oldest.has_value() && oldest->is_harmful())) {
        return done;
    }
    link.ask("SET statement_timeout = 0");
    const auto for_each = [&](const std::string& query, const std::string& before) {
        const std::vector<std::string> names = link.ask(query).as<std::string>();
        for (const std::string& each : names) {
            std::string statement = before + quoted_name(schema) + "." + quoted_name(each);
            if (try_to(link, statement)) {
                done.push_back(std::move(statement));
            }
        }
    };
    for_each(tables_to_vacuum(schema, limits), "VACUUM (SKIP_LOCKED, ANALYZE) ");
    for_each(broken_indexes(schema), "DROP INDEX CONCURRENTLY IF EXISTS ");
    for_each(bloated_indexes(schema, limits), "REINDEX INDEX CONCURRENTLY ");
    return done;
}

pg_maintainer::pg_maintainer(const pg_settings& settings, const pg_maintenance_limits& limits)
    : settings_(settings),
      limits_(limits),
      thread_([this](const std::stop_token& stopped) { run(stopped); }) {}

void pg_maintainer::run(const std::stop_token& stopped) {
    std::mutex guard;
    std::condition_variable_any wake;
    std::unique_lock lock(guard);
    const auto has_ended = [&stopped] { return stopped.stop_requested(); };
    while (!wake.wait_for(lock, stopped, limits_.pause, has_ended)) {
        look(stopped);
    }
}

// Without a connection between two looks: they are few.
void pg_maintainer::look(const std::stop_token& stopped) noexcept {
    try {
        pg_link link(settings_, "maintenance");
        pg_link::call current(link);
        const std::stop_callback interrupts(stopped, [&current] { current.interrupt(); });
        link.open();
        maintain_tables(link, settings_.options.schema, limits_);
    } catch (const std::exception&) {
        // The writers tell of a database that cannot be used; this looks again.
    }
}

}  // namespace weir::service::detail
