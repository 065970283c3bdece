// SPDX-License-Identifier: MIT
// Each batch removes ended tasks whose retention has passed, oldest first, and flows without tasks,
// unless the rate of their key still counts one. Unused queues and gone nodes follow once no such
// task is left.

#include "service/store/sqlite/purge.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace weir::service::detail {

namespace {

// Other transactions wait for a batch, so it is small.
constexpr std::size_t task_batch = 250;
constexpr std::size_t small_row_batch = 1000;  // queues and nodes
// More than tasks, each of which may be the last of its flow, so that flows that their rate has
// kept are removed too.
constexpr std::size_t flow_batch = 2 * task_batch;
// A node that returns later is registered as new, and none of its former tasks is its own.
constexpr std::chrono::seconds min_node_retention = std::chrono::hours(24);

// Removes nodes that were found gone long enough ago. The largest number stays, so that SQLite does
// not use it again: tasks that ran on that node still refer to it.
void purge_nodes(sqlite::session& session, const retention& kept, timestamp now) {
    session.execute(
        "UPDATE nodes SET gone_at = ?1 WHERE number IN (SELECT number FROM nodes WHERE is_gone = 1 "
        "AND gone_at IS NULL LIMIT ?2)",
        number_of(now), small_row_batch);
    const std::chrono::seconds age =
        std::max({min_node_retention, kept.completed, kept.failed, kept.cancelled});
    session.execute(
        "DELETE FROM nodes WHERE number IN (SELECT number FROM nodes WHERE is_gone = 1 AND gone_at "
        "<= ?1 AND number < (SELECT max(number) FROM nodes) ORDER BY gone_at LIMIT ?2)",
        number_of(now - age), small_row_batch);
}

void purge_queues(sqlite::session& session, const retention& kept, timestamp now) {
    session.execute(
        "DELETE FROM queues WHERE id IN (SELECT id FROM queues WHERE used_at <= ?1 AND "
        "pending = 0 AND running = 0 AND completed = 0 AND failed = 0 AND cancelled = 0 AND "
        "is_paused = 0 AND max_pending = 0 AND max_running = 0 AND rate = 0 AND burst = 1 AND "
        "key_max_running = 0 AND key_rate = 0 AND key_burst = 1 AND "
        "NOT EXISTS(SELECT 1 FROM flows WHERE queue = queues.id) LIMIT ?2)",
        number_of(now - kept.queues), small_row_batch);
}

}  // namespace

std::size_t purge_batch(sqlite::session& session, const retention& kept, timestamp now) {
    const std::array<std::pair<task_state, std::chrono::seconds>, 3> limits = {
        std::pair(task_state::completed, kept.completed),
        std::pair(task_state::failed, kept.failed),
        std::pair(task_state::cancelled, kept.cancelled)};
    std::size_t removed = 0;
    ledger books(session, now);
    for (const auto& [state, age] : limits) {
        const sqlite::rows old = session.query(
            "SELECT id, queue, flow, tags IS NOT NULL, payload IS NULL, run FROM tasks WHERE "
            "line = ? AND rank <= ? ORDER BY rank LIMIT ?",
            ended_line(state), number_of(now - age), task_batch - removed);
        for (const sqlite::row each : old) {
            const auto id = each.get<std::int64_t>(0);
            if (each.get<bool>(3)) {
                session.execute(
                    "DELETE FROM tags WHERE task = ?1 AND tag IN (SELECT value FROM json_each("
                    "(SELECT tags FROM tasks WHERE id = ?1)))",
                    id);
            }
            if (each.get<bool>(4)) {
                session.execute("DELETE FROM payloads WHERE task = ?", id);
            }
            if (state != task_state::completed || each.get<std::int64_t>(5) > 1) {
                session.execute("DELETE FROM attempts WHERE task = ?", id);
            }
            session.execute("DELETE FROM tasks WHERE id = ?", id);
            books.leaves(books.queue(each.get<std::int64_t>(1)),
                         books.flow(each.get<std::int64_t>(2)), {state, false});
        }
        removed += old.size();
    }
    books.close();
    session.execute(
        "DELETE FROM flows WHERE id IN (SELECT id FROM flows WHERE tasks = 0 AND full_at <= ? "
        "LIMIT ?)",
        number_of(now) * 1000, flow_batch);
    if (removed < task_batch) {
        purge_nodes(session, kept, now);
        purge_queues(session, kept, now);
    }
    return removed;
}

}  // namespace weir::service::detail
