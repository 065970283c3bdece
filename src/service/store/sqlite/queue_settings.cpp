// SPDX-License-Identifier: MIT
// Limits that change do not look at time: whatever a rate holds back becomes ready, or is offered
// to workers, and the next claim checks it.

#include "service/store/sqlite/queue_settings.hpp"

namespace weir::service::detail {

void limit_queue(sql_session& session, std::string_view name, const queue_limits& limits) {
    session.execute(
        "INSERT INTO queues(name, max_pending, max_running, rate, burst, key_max_running, "
        "key_rate, key_burst) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(name) DO UPDATE "
        "SET max_pending = ?2, max_running = ?3, rate = ?4, burst = ?5, key_max_running = ?6, "
        "key_rate = ?7, key_burst = ?8",
        name, limits.max_pending, limits.max_running, limits.rate, limits.burst,
        limits.key_max_running, limits.key_rate, limits.key_burst);
    session.execute(
        "UPDATE flows SET place = CASE WHEN due = 0 AND ready_branches = 0 THEN 0 WHEN is_paused = "
        "1 THEN 4 WHEN coalesce(own_max_running, ?2) > 0 AND running >= coalesce(own_max_running, "
        "?2) THEN 2 ELSE 1 END WHERE queue = (SELECT id FROM queues WHERE name = ?1) AND place != "
        "0",
        name, limits.key_max_running);
    session.execute(
        "UPDATE branches SET offered = (SELECT id FROM queues WHERE name = ?1), free_at = 0 WHERE "
        "offered = 0 AND flow IN (SELECT id FROM flows WHERE queue = (SELECT id FROM queues WHERE "
        "name = ?1) AND held_branches > 0)",
        name);
    session.execute(
        "UPDATE flows SET held_branches = 0 WHERE queue = (SELECT id FROM queues WHERE name = ?) "
        "AND held_branches > 0",
        name);
}

void limit_destinations_of(sql_session& session, std::string_view kind,
                           const destination_limits& limits) {
    const std::int64_t written = session.count(
        "INSERT INTO destination_kinds(kind_name, max_running, rate, burst, open_after, open_for) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(kind_name) DO UPDATE SET max_running = ?2, "
        "rate = ?3, burst = ?4, open_after = ?5, open_for = ?6 WHERE "
        "(destination_kinds.max_running, destination_kinds.rate, destination_kinds.burst, "
        "destination_kinds.open_after, destination_kinds.open_for) != (?2, ?3, ?4, ?5, ?6)",
        kind, limits.max_running, limits.rate, limits.burst, limits.open_after,
        limits.open_for.count());
    if (written > 0) {
        session.execute(
            "UPDATE destinations SET place = 1 WHERE place != 0 AND name != '' AND kind = (SELECT "
            "id FROM destination_kinds WHERE kind_name = ?)",
            kind);
    }
}

}  // namespace weir::service::detail
