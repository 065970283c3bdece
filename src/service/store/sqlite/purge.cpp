// SPDX-License-Identifier: MIT
// Each batch removes ended tasks whose retention has passed, oldest first, and flows, branches and
// destinations without tasks, unless a rate, a circuit or a pause still counts. Groups are removed
// after their members. Unused queues and gone nodes follow once no such task is left.

#include "service/store/sqlite/purge.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/worker_rules.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
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
// Ended groups that still have members are looked at again after this time.
constexpr std::chrono::seconds group_look_interval = std::chrono::minutes(10);

// Removes nodes that were found gone long enough ago. The largest number stays, so that SQLite does
// not use it again: tasks that ran on that node still refer to it.
void purge_nodes(sql_session& session, const retention& kept, timestamp now) {
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
    // Sessions of workers are many, and never come back under their name.
    session.execute(
        "DELETE FROM nodes WHERE number IN (SELECT number FROM nodes CROSS JOIN workers ON node = "
        "number WHERE is_gone = 1 AND gone_at <= ?1 AND number < (SELECT max(number) FROM nodes) "
        "ORDER BY gone_at LIMIT ?2)",
        number_of(now - session_retention), small_row_batch);
    session.execute(
        "DELETE FROM workers WHERE node IN (SELECT node FROM workers WHERE NOT EXISTS(SELECT 1 "
        "FROM nodes WHERE number = node) LIMIT ?)",
        small_row_batch);
}

// Before flows, which they refer to.
void purge_branches(sql_session& session, timestamp now) {
    const sqlite::rows empty =
        session.query("SELECT id, destination FROM branches WHERE tasks = 0 LIMIT ?", flow_batch);
    for (const sqlite::row each : empty) {
        session.execute("DELETE FROM branches WHERE id = ?", each.get<std::int64_t>(0));
        session.execute("UPDATE destinations SET branches = branches - 1 WHERE id = ?",
                        each.get<std::int64_t>(1));
    }
    session.execute(
        "DELETE FROM destinations WHERE id IN (SELECT id FROM destinations WHERE branches = 0 AND "
        "name != '' AND full_at <= ?1 * 1000 AND not_before <= ?1 AND open_until <= ?1 LIMIT ?2)",
        number_of(now), flow_batch);
    const sqlite::rows pools = session.query(
        "SELECT id FROM destinations WHERE branches = 0 AND name = '' LIMIT ?", flow_batch);
    for (const sqlite::row each : pools) {
        session.execute("DELETE FROM pool_turns WHERE pool = ?", each.get<std::int64_t>(0));
        session.execute("DELETE FROM destinations WHERE id = ?", each.get<std::int64_t>(0));
    }
}

void purge_queues(sql_session& session, const retention& kept, timestamp now) {
    session.execute(
        "DELETE FROM queues WHERE id IN (SELECT id FROM queues WHERE used_at <= ?1 AND "
        "pending = 0 AND running = 0 AND completed = 0 AND failed = 0 AND cancelled = 0 AND "
        "is_paused = 0 AND max_pending = 0 AND max_running = 0 AND rate = 0 AND burst = 1 AND "
        "key_max_running = 0 AND key_rate = 0 AND key_burst = 1 AND "
        "NOT EXISTS(SELECT 1 FROM flows WHERE queue = queues.id) LIMIT ?2)",
        number_of(now - kept.queues), small_row_batch);
}

void purge_groups(sql_session& session, const retention& kept, timestamp now) {
    const sqlite::rows ended = session.query(
        "SELECT id, state, finished_at, EXISTS(SELECT 1 FROM tasks WHERE in_group = "
        "task_groups.id) FROM task_groups WHERE purge_at <= ? ORDER BY purge_at LIMIT ?",
        number_of(now), task_batch);
    for (const sqlite::row each : ended) {
        const auto id = each.get<std::int64_t>(0);
        const auto state = static_cast<group_state>(each.get<int>(1));
        const std::chrono::seconds age = state == group_state::completed ? kept.completed
                                         : state == group_state::failed  ? kept.failed
                                                                         : kept.cancelled;
        const timestamp until = time_of(each.get<std::int64_t>(2)) + age;
        if (until <= now && !each.get<bool>(3)) {
            session.execute("DELETE FROM task_groups WHERE id = ?", id);
        } else {
            session.execute("UPDATE task_groups SET purge_at = ? WHERE id = ?",
                            number_of(std::max(until, now + group_look_interval)), id);
        }
    }
}

// Members stay until their group has ended, and their own time has passed since then. A member that
// stays goes to the place in its line where purges find it again when it may be time.
class member_retention {
public:
    explicit member_retention(sql_session& session) noexcept : session_(session) {}

    // `task` has the columns of task_remover.
    bool keeps(const sqlite::row& task, std::chrono::seconds age, timestamp now) {
        const auto group = task.get<std::optional<std::int64_t>>(15);
        if (!group.has_value()) {
            return false;
        }
        const std::optional<timestamp> ended = end_of(*group, now);
        if (ended.has_value() && *ended <= now - age) {
            return false;
        }
        session_.execute("UPDATE tasks SET rank = ? WHERE id = ?", number_of(ended.value_or(now)),
                         task.get<std::int64_t>(0));
        return true;
    }

private:
    // Empty: it has not ended. A group that was removed has ended long ago.
    std::optional<timestamp> end_of(std::int64_t group, timestamp now) {
        const auto [known, is_new] = ends_.try_emplace(group);
        if (is_new) {
            const sqlite::rows found =
                session_.query("SELECT finished_at FROM task_groups WHERE id = ?", group);
            if (found.empty()) {
                known->second = timestamp::min();
            } else if (const std::int64_t* const ended = found[0][0].integer()) {
                known->second = std::min(time_of(*ended), now);
            }
        }
        return known->second;
    }

    sql_session& session_;
    std::map<std::int64_t, std::optional<timestamp>> ends_;
};

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
        session_.execute("DELETE FROM steps WHERE task = ?", id);
    }
    if (task.get<bool>(16)) {
        session_.execute("DELETE FROM expiries WHERE task = ?", id);
    }
    const end_facts facts = read_end_facts(task, 12);
    if (facts.has_callbacks) {
        session_.execute("DELETE FROM follow_ups WHERE task = ?", id);
    }
    if (task.get<bool>(11)) {
        session_.execute("DELETE FROM edges WHERE child = ?", id);
    }
    ends_.removes(id, state, facts);
    session_.execute("DELETE FROM tasks WHERE id = ?", id);
    const task_place place = books_.place(task.get<std::int64_t>(1), task.get<std::int64_t>(2),
                                          task.get<std::optional<std::int64_t>>(9));
    const bool is_due = state == task_state::pending && is_due_line(task.get<std::int64_t>(4));
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

std::size_t purge_batch(sql_session& session, const retention& kept, moment now, event_list& events,
                        id_source& ids, std::size_t max_queues) {
    const std::array<std::pair<task_state, std::chrono::seconds>, 3> limits = {
        std::pair(task_state::completed, kept.completed),
        std::pair(task_state::failed, kept.failed),
        std::pair(task_state::cancelled, kept.cancelled)};
    std::size_t removed = 0;
    ledger books(session, now);
    task_ends ends(session, books, ids, events, now, max_queues);
    task_remover tasks(session, books, ends);
    member_retention members(session);
    for (const auto& [state, age] : limits) {
        static const std::string sql = "SELECT " + std::string(task_remover::columns) +
                                       " FROM tasks WHERE line = ? AND rank <= ? ORDER BY rank "
                                       "LIMIT ?";
        const sqlite::rows old =
            session.query(sql, ended_line(state), number_of(now.at - age), task_batch - removed);
        for (const sqlite::row each : old) {
            if (!members.keeps(each, age, now.at)) {
                tasks.remove(each);
            }
        }
        removed += old.size();
    }
    ends.close();
    books.close();
    purge_groups(session, kept, now.at);
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
