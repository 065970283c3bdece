// SPDX-License-Identifier: MIT
// Nodes, their leases and their abandoned tasks. A node that has lost its lease keeps its row,
// marked as gone once its tasks have been rescued, so that it is not mistaken for a new node when
// it returns.

#include "service/store/sqlite/task_rows.hpp"

namespace weir::service::detail {

std::optional<std::int64_t> node_number(sqlite::session& on, std::string_view node,
                                        std::optional<timestamp> alive_at) {
    const sqlite::rows found =
        on.query("SELECT number, expires_at, is_gone FROM nodes WHERE id = ?", node);
    if (found.empty()) {
        return std::nullopt;
    }
    const sqlite::row row = found[0];
    if (alive_at.has_value() &&
        (row.get<bool>(2) || row.get<std::int64_t>(1) <= number_of(*alive_at))) {
        return std::nullopt;
    }
    return row.get<std::int64_t>(0);
}

heartbeat_answer keep_lease(sqlite::session& on, const node_record& node, timestamp now) {
    heartbeat_answer answer;
    const sqlite::rows found = on.query(
        "SELECT number, host, pid, started_at, expires_at, is_gone FROM nodes WHERE id = ?",
        node.id);
    if (found.empty()) {
        on.execute(
            "INSERT INTO nodes(id, host, pid, started_at, expires_at) VALUES (?, ?, ?, ?, ?)",
            node.id, node.host, node.pid, number_of(node.started_at), number_of(node.expires_at));
        return answer;
    }
    const sqlite::row row = found[0];
    const bool is_same = row.get<std::string_view>(1) == node.host &&
                         row.get<std::int64_t>(2) == node.pid &&
                         row.get<std::int64_t>(3) == number_of(node.started_at);
    answer.is_alive = is_same && !row.get<bool>(5) && row.get<std::int64_t>(4) > number_of(now);
    if (!answer.is_alive) {
        return answer;
    }
    const auto number = row.get<std::int64_t>(0);
    on.execute("UPDATE nodes SET expires_at = ? WHERE number = ?", number_of(node.expires_at),
               number);
    const sqlite::rows cancelling = on.query(
        "SELECT id, run FROM tasks WHERE line = ? AND is_cancelling = 1", running_line(number));
    for (const sqlite::row each : cancelling) {
        answer.cancelling.push_back(
            {task_id(each.get<std::int64_t>(0)), each.get<std::uint32_t>(1)});
    }
    return answer;
}

std::vector<run_key> runs_of(sqlite::session& on, std::string_view node) {
    const sqlite::rows found = on.query(
        "SELECT id, run FROM tasks WHERE line = (SELECT 8 * number + 2 FROM nodes WHERE nodes.id = "
        "?)",
        node);
    std::vector<run_key> runs;
    for (const sqlite::row each : found) {
        runs.push_back({task_id(each.get<std::int64_t>(0)), each.get<std::uint32_t>(1)});
    }
    return runs;
}

std::vector<node_record> list_nodes(sqlite::session& on) {
    const sqlite::rows found = on.query(
        "SELECT id, host, pid, started_at, expires_at FROM nodes INDEXED BY nodes_here WHERE "
        "is_gone = 0 AND expires_at > 0 ORDER BY number");
    std::vector<node_record> nodes;
    for (const sqlite::row each : found) {
        node_record& node = nodes.emplace_back();
        node.id = each.get<std::string>(0);
        node.host = each.get<std::string>(1);
        node.pid = each.get<std::int64_t>(2);
        node.started_at = time_of(each.get<std::int64_t>(3));
        node.expires_at = time_of(each.get<std::int64_t>(4));
    }
    return nodes;
}

void end_lease(sqlite::session& on, std::string_view node) {
    on.execute(
        "UPDATE nodes SET expires_at = 0, is_gone = is_gone OR NOT EXISTS(SELECT 1 FROM tasks "
        "WHERE line = 8 * number + 2) WHERE id = ?",
        node);
}

rescue_step rescue_tasks(sqlite::session& on, timestamp now, std::uint32_t max_crashes,
                         std::size_t limit, event_list& events) {
    rescue_step step;
    const sqlite::rows dead =
        on.query("SELECT number, id FROM nodes WHERE is_gone = 0 AND expires_at <= ? LIMIT 1",
                 number_of(now));
    if (dead.empty()) {
        return step;
    }
    step.is_all = false;
    const auto node = dead[0].get<std::int64_t>(0);
    const sqlite::rows orphans = on.query(
        "SELECT id, queue, flow, run, crashes, is_cancelling, started_at, priority FROM tasks "
        "WHERE line = ? LIMIT ?",
        running_line(node), limit);
    if (orphans.size() < limit) {
        on.execute("UPDATE nodes SET is_gone = 1 WHERE number = ?", node);
    }
    ledger books(on, now);
    for (const sqlite::row each : orphans) {
        const auto id = each.get<std::int64_t>(0);
        const std::uint32_t crashes = each.get<std::uint32_t>(4) + 1;
        attempt_record attempt;
        attempt.run = each.get<std::uint32_t>(3);
        attempt.end = attempt_end::crashed;
        attempt.started_at = time_of(each.get<std::int64_t>(6));
        attempt.ended_at = now;
        attempt.error = "the process that ran it has gone";
        attempt.node = dead[0].get<std::string>(1);
        task_state state = task_state::pending;
        std::string error = attempt.error;
        if (each.get<bool>(5)) {
            state = task_state::cancelled;
            ++step.done.cancelled;
        } else if (crashes >= max_crashes) {
            state = task_state::failed;
            error = "the process that ran it has gone, for the " + std::to_string(crashes) +
                    (crashes == 1   ? "st time"
                     : crashes == 2 ? "nd time"
                     : crashes == 3 ? "rd time"
                                    : "th time");
            ++step.done.failed;
        } else {
            ++step.done.returned;
        }
        const bool is_due = state == task_state::pending;
        const position stands =
            is_due ? position{due_line(each.get<std::int64_t>(2)), -each.get<std::int64_t>(7)}
                   : position{ended_line(state), number_of(now)};
        on.execute(
            "UPDATE tasks SET state = ?1, line = ?2, rank = ?3, is_cancelling = 0, crashes = ?4, "
            "due_at = iif(?1 = 0, ?5, due_at), finished_at = iif(?1 = 0, NULL, ?5), error = ?6 "
            "WHERE id = ?7",
            static_cast<int>(state), stands.line, stands.rank, crashes, number_of(now), error, id);
        add_attempt(on, id, attempt);
        books.moves(books.queue(each.get<std::int64_t>(1)), books.flow(each.get<std::int64_t>(2)),
                    {task_state::running, false}, {state, is_due});
        events.add(on, id);
    }
    books.close();
    return step;
}

}  // namespace weir::service::detail
