// SPDX-License-Identifier: MIT
// The history is two rows of `meta`. They are compared and written under the lock of all writers,
// so one node does what a failover demands, before any other call on the new primary.

#include "service/store/postgres/pg_timeline.hpp"

#include <chrono>
#include <cstdint>

namespace weir::service::detail {

namespace {

constexpr const char* note_sql =
    "INSERT INTO meta(name, value) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2";

void note_in_transaction(pg_link& link, const pg_history& found,
                         const postgres_store_options& options) {
    link.execute("SELECT value FROM meta WHERE name = 'lock' FOR UPDATE");
    const sqlite::rows rows =
        link.query("SELECT name, value FROM meta WHERE name = 'system' OR name = 'timeline'");
    pg_history noted;
    for (const sqlite::row each : rows) {
        if (each.get<std::string>(0) == "system") {
            noted.system = each.get<std::int64_t>(1);
        } else {
            noted.timeline = each.get<std::uint32_t>(1);
        }
    }
    if (noted == found) {
        return;
    }
    const std::optional<timestamp> now = link.server_time();
    if (noted.is_known() && now.has_value()) {
        const timestamp until =
            *now + std::chrono::ceil<std::chrono::microseconds>(options.failover_grace);
        link.execute(
            "UPDATE nodes SET expires_at = max(expires_at, ?) WHERE is_gone = 0 AND expires_at > 0",
            until.time_since_epoch().count());
    }
    link.execute(note_sql, "system", found.system);
    link.execute(note_sql, "timeline", static_cast<std::int64_t>(found.timeline));
}

}  // namespace

void note_history(pg_link& link, const postgres_store_options& options) {
    // Not synced: a server that was promoted may have no standby yet. What is acknowledged later
    // waits for one, and for this.
    link.begin_writing();
    try {
        note_in_transaction(link, link.server_history(), options);
        link.commit(false);
    } catch (...) {
        link.roll_back();
        throw;
    }
}

std::string describe_lossy_standbys(pg_link& link) {
    const pg::rows found = link.ask(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication WHERE "
        "pg_catalog.current_setting('synchronous_standby_names') = ''");
    const auto count = found.one<std::int64_t>();
    if (count == 0) {
        return {};
    }
    return "the PostgreSQL server has " + std::to_string(count) + " asynchronous standby" +
           (count == 1 ? "" : "s") +
           ": a failover loses the last tasks and results that were acknowledged; with "
           "synchronous_standby_names it does not";
}

}  // namespace weir::service::detail
