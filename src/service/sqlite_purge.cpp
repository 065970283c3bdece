// SPDX-License-Identifier: MIT
// What has been kept long enough goes, oldest first, and with it flows that have no task any more, unless their rate
// still remembers one.

#include "sqlite_tasks.hpp"

#include <array>

namespace weir::service::detail {

namespace {

constexpr std::size_t most_at_once = 1000;
constexpr std::chrono::seconds nodes_are_kept = std::chrono::hours(24 * 30);

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
        number_of(now) * 1000, most_at_once);
    on.execute("DELETE FROM nodes WHERE is_gone = 1 AND expires_at <= ? AND expires_at > 0",
               number_of(now - nodes_are_kept));
    return removed;
}

}  // namespace weir::service::detail
