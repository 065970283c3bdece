// SPDX-License-Identifier: MIT
// A session is a row of nodes, for its lease, and a row of workers.

#include "service/store/sqlite/rows/session_rows.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

namespace weir::service::detail {

std::optional<session_row> read_session(sql_session& session, std::string_view worker,
                                        timestamp now) {
    const sqlite::rows found = session.query(
        "SELECT number, kinds, queues, is_draining, last_poll, last_claim, known_claim, beat_at "
        "FROM nodes CROSS JOIN workers ON workers.node = number WHERE id = ? AND is_gone = 0 AND "
        "expires_at > ?",
        worker, number_of(now));
    if (found.empty()) {
        return std::nullopt;
    }
    const sqlite::row row = found[0];
    session_row read;
    read.number = row.get<std::int64_t>(0);
    read.kinds = row.get<std::string>(1);
    read.queues = row.get<std::string>(2);
    read.is_draining = row.get<bool>(3);
    read.last_poll = row.get<std::uint64_t>(4);
    read.last_claim = row.get<std::uint64_t>(5);
    read.known_claim = row.get<std::uint64_t>(6);
    read.beat_at = time_of(row.get<std::int64_t>(7));
    return read;
}

std::vector<worker_status> read_sessions(sql_session& session, std::optional<timestamp> alive_at) {
    const sqlite::rows found = session.query(
        "SELECT id, name, kinds, queues, sdk, started_at, expires_at, heard_at, polled_at, free, "
        "is_draining FROM nodes INDEXED BY nodes_here CROSS JOIN workers ON workers.node = number "
        "WHERE is_gone = 0 AND expires_at > ? ORDER BY started_at, id",
        alive_at ? number_of(*alive_at) : 0);
    std::vector<worker_status> all;
    for (const sqlite::row each : found) {
        worker_status& added = all.emplace_back();
        added.id = each.get<std::string>(0);
        added.name = each.get<std::string>(1);
        added.kinds = read_tags(each.get<std::string_view>(2));
        added.queues = read_tags(each.get<std::string_view>(3));
        added.sdk = each.get<std::string>(4);
        added.started_at = time_of(each.get<std::int64_t>(5));
        added.expires_at = time_of(each.get<std::int64_t>(6));
        added.heard_at = time_of(each.get<std::int64_t>(7));
        if (const std::int64_t* const polled = each[8].integer()) {
            added.polled_at = time_of(*polled);
        }
        added.free = each.get<std::uint64_t>(9);
        added.is_draining = each.get<bool>(10);
    }
    return all;
}

}  // namespace weir::service::detail
