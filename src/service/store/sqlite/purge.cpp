// SPDX-License-Identifier: MIT
// Each batch removes ended tasks whose retention has passed, oldest first, and flows, branches and
// destinations without tasks, unless a rate, a circuit or a pause still counts. Unused queues and
// gone nodes follow once no such task is left.

#include "service/store/sqlite/purge.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace weir::service::detail {

namespace {

// Other transactions wait for a batch, so it is small.
constexpr std::size_t task_batch = 50;
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

// Before flows, which they refer to.
void purge_branches(sqlite::session& session, timestamp now) {
    const sqlite::rows empty =
        session.query("SELECT id, destination FROM branches WHERE tasks = 0 LIMIT ?", flow_batch);
    for (const sqlite::row each : empty) {
        session.execute("DELETE FROM branches WHERE id = ?", each.get<std::int64_t>(0));
        session.execute("UPDATE destinations SET branches = branches - 1 WHERE id = ?",
                        each.get<std::int64_t>(1));
    }
    session.execute(
        "DELETE FROM destinations WHERE id IN (SELECT id FROM destinations WHERE branches = 0 AND "
        "full_at <= ?1 * 1000 AND not_before <= ?1 AND open_until <= ?1 LIMIT ?2)",
        number_of(now), flow_batch);
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

void task_remover::remove(const sqlite::row& task) {
    const auto id = task.get<std::int64_t>(0);
    const auto state = static_cast<task_state>(task.get<int>(3));
    if (task.get<bool>(5)) {
        session_.execute(
            "DELETE FROM tags WHERE task = ?1 AND tag IN (SELECT value FROM json_each((SELECT tags "
            "FROM tasks WHERE id = ?1)))",
            id);
    }
    if (task.get<bool>(6)) {
        session_.execute("DELETE FROM payloads WHERE task = ?", id);
    }
    if (state != task_state::completed || task.get<std::int64_t>(7) > 1) {
        session_.execute("DELETE FROM attempts WHERE task = ?", id);
    }
    if (const std::string* const key = task[8].text()) {
        session_.execute("DELETE FROM unique_keys WHERE key = ? AND task = ?", *key, id);
    }
    if (task.get<bool>(10)) {
        session_.execute("DELETE FROM follow_ups WHERE task = ?", id);
    }
    if (task.get<bool>(11)) {
        session_.execute("DELETE FROM steps WHERE task = ?", id);
    }
    session_.execute("DELETE FROM tasks WHERE id = ?", id);
    const task_place place = books_.place(task.get<std::int64_t>(1), task.get<std::int64_t>(2),
                                          task.get<std::optional<std::int64_t>>(9));
    const bool is_due =
        state == task_state::pending && task.get<std::int64_t>(4) == due_line(place);
    books_.leaves(place, {state, is_due});
}

change_result task_remover::remove_ended(std::int64_t id) {
    static const std::string sql = "SELECT " + std::string(columns) + " FROM tasks WHERE id = ?";
    const sqlite::rows found = session_.query(sql, id);
    if (found.empty()) {
        return change_result::not_found;
    }
    if (!is_final(static_cast<task_state>(found[0].get<int>(3)))) {
        return change_result::no_change;
    }
    remove(found[0]);
    return change_result::done;
}

std::size_t purge_batch(sqlite::session& session, const retention& kept, moment now) {
    const std::array<std::pair<task_state, std::chrono::seconds>, 3> limits = {
        std::pair(task_state::completed, kept.completed),
        std::pair(task_state::failed, kept.failed),
        std::pair(task_state::cancelled, kept.cancelled)};
    std::size_t removed = 0;
    task_remover tasks(session, now);
    for (const auto& [state, age] : limits) {
        static const std::string sql = "SELECT " + std::string(task_remover::columns) +
                                       " FROM tasks WHERE line = ? AND rank <= ? ORDER BY rank "
                                       "LIMIT ?";
        const sqlite::rows old =
            session.query(sql, ended_line(state), number_of(now.at - age), task_batch - removed);
        for (const sqlite::row each : old) {
            tasks.remove(each);
        }
        removed += old.size();
    }
    tasks.close();
    purge_branches(session, now.steady);
    session.execute(
        "DELETE FROM flows WHERE id IN (SELECT id FROM flows WHERE tasks = 0 AND full_at <= ? AND "
        "has_settings = 0 AND NOT EXISTS(SELECT 1 FROM branches WHERE flow = flows.id) LIMIT ?)",
        number_of(now.steady) * 1000, flow_batch);
    if (removed < task_batch) {
        purge_nodes(session, kept, now.at);
        purge_queues(session, kept, now.at);
    }
    return removed;
}

}  // namespace weir::service::detail
