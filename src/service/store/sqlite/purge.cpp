// SPDX-License-Identifier: MIT
// Removes tasks whose retention has expired, oldest first, and flows without tasks, unless their
// rate still has to be remembered. When no expired task is left, unused queues and nodes follow.

#include "service/store/sqlite/task_rows.hpp"

#include <algorithm>
#include <array>

namespace weir::service::detail {

namespace {

// Other calls wait for a step, so it must be short.
constexpr std::size_t most_at_once = 250;
constexpr std::size_t most_small_rows = 1000;  // queues and nodes
// More than tasks: each removed task may be the last one of its flow, and flows that were kept for
// their rate are removed, too.
constexpr std::size_t most_flows_at_once = 2 * most_at_once;
// The minimum. A node that returns later is treated as a new node and does not own its former
// tasks.
constexpr std::chrono::seconds nodes_are_kept = std::chrono::hours(24);

// Removes nodes that were found to be gone some time ago. The row with the highest number stays, so
// that its number is not reused while tasks may still refer to it.
void purge_nodes(sqlite::session& on, const retention& kept, timestamp now) {
    on.execute(
        "UPDATE nodes SET gone_at = ?1 WHERE number IN (SELECT number FROM nodes WHERE is_gone = 1 "
        "AND gone_at IS NULL LIMIT ?2)",
        number_of(now), most_small_rows);
    const std::chrono::seconds age =
        std::max({nodes_are_kept, kept.completed, kept.failed, kept.cancelled});
    on.execute(
        "DELETE FROM nodes WHERE number IN (SELECT number FROM nodes WHERE is_gone = 1 AND gone_at "
        "<= ?1 AND number < (SELECT max(number) FROM nodes) ORDER BY gone_at LIMIT ?2)",
        number_of(now - age), most_small_rows);
}

void purge_queues(sqlite::session& on, const retention& kept, timestamp now) {
    on.execute(
        "DELETE FROM queues WHERE id IN (SELECT id FROM queues WHERE used_at <= ?1 AND "
        "pending = 0 AND running = 0 AND completed = 0 AND failed = 0 AND cancelled = 0 AND "
        "is_paused = 0 AND max_pending = 0 AND max_running = 0 AND rate = 0 AND burst = 1 AND "
        "key_max_running = 0 AND key_rate = 0 AND key_burst = 1 AND "
        "NOT EXISTS(SELECT 1 FROM flows WHERE queue = queues.id) LIMIT ?2)",
        number_of(now - kept.queues), most_small_rows);
}

}  // namespace

std::size_t purge_tasks(sqlite::session& on, const retention& kept, timestamp now) {
    const std::array<std::pair<task_state, std::chrono::seconds>, 3> limits = {
        std::pair(task_state::completed, kept.completed),
        std::pair(task_state::failed, kept.failed),
        std::pair(task_state::cancelled, kept.cancelled)};
    std::size_t removed = 0;
    ledger books(on, now);
    for (const auto& [state, age] : limits) {
        const sqlite::rows old = on.query(
            "SELECT id, queue, flow, tags IS NOT NULL, payload IS NULL, run FROM tasks WHERE "
            "line = ? AND rank <= ? ORDER BY rank LIMIT ?",
            ended_line(state), number_of(now - age), most_at_once - removed);
        for (const sqlite::row each : old) {
            const auto id = each.get<std::int64_t>(0);
            if (each.get<bool>(3)) {
                on.execute(
                    "DELETE FROM tags WHERE task = ?1 AND tag IN (SELECT value FROM json_each("
                    "(SELECT tags FROM tasks WHERE id = ?1)))",
                    id);
            }
            if (each.get<bool>(4)) {
                on.execute("DELETE FROM payloads WHERE task = ?", id);
            }
            if (state != task_state::completed || each.get<std::int64_t>(5) > 1) {
                on.execute("DELETE FROM attempts WHERE task = ?", id);
            }
            on.execute("DELETE FROM tasks WHERE id = ?", id);
            books.leaves(books.queue(each.get<std::int64_t>(1)),
                         books.flow(each.get<std::int64_t>(2)), {state, false});
        }
        removed += old.size();
    }
    books.close();
    on.execute(
        "DELETE FROM flows WHERE id IN (SELECT id FROM flows WHERE tasks = 0 AND full_at <= ? "
        "LIMIT ?)",
        number_of(now) * 1000, most_flows_at_once);
    if (removed < most_at_once) {
        purge_nodes(on, kept, now);
        purge_queues(on, kept, now);
    }
    return removed;
}

}  // namespace weir::service::detail
