// SPDX-License-Identifier: MIT
// A node that has lost its lease keeps its row, marked as gone once its tasks have been rescued, so
// that it is not registered as a new node when it returns.

#include "service/store/sqlite/leases.hpp"

#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/task_ends.hpp"
#include "service/store/store_texts.hpp"

#include <string>

namespace weir::service::detail {

std::optional<std::int64_t> node_number(sql_session& session, std::string_view node,
                                        std::optional<timestamp> alive_at) {
    return node_number(ask_node(session, node)->take(), alive_at);
}

std::unique_ptr<sql_answer> ask_node(sql_session& session, std::string_view node) {
    return session.ask("SELECT number, expires_at, is_gone FROM nodes WHERE id = ?", node);
}

std::optional<std::int64_t> node_number(const sqlite::rows& found,
                                        std::optional<timestamp> alive_at) {
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

namespace {

// Rows of id and run.
std::vector<run_key> read_runs(const sqlite::rows& found) {
    std::vector<run_key> runs;
    for (const sqlite::row each : found) {
        runs.push_back({task_id(each.get<std::int64_t>(0)), each.get<std::uint32_t>(1)});
    }
    return runs;
}

// That of the server's clock, if there is one; that of another node of this host, if one has a
// lease on its own clock; the node's otherwise.
std::chrono::microseconds clock_offset(sql_session& session, const node_record& node,
                                       timestamp now) {
    if (const std::optional<timestamp> at = session.server_time()) {
        return node.clock_offset + (*at - now);
    }
    const sqlite::rows others = session.query(
        "SELECT clock_offset FROM nodes INDEXED BY nodes_here WHERE is_gone = 0 AND expires_at > 0 "
        "AND host = ?1 AND clock_offset IS NOT NULL AND expires_at - clock_offset > ?2 ORDER BY "
        "number LIMIT 1",
        node.host, number_of(now) - node.clock_offset.count());
    return others.empty() ? node.clock_offset
                          : std::chrono::microseconds(others[0].get<std::int64_t>(0));
}

}  // namespace

std::vector<run_key> runs_on(sql_session& session, std::string_view node) {
    return read_runs(session.query(
        "SELECT id, run FROM tasks WHERE line = (SELECT 8 * number + 2 FROM nodes WHERE nodes.id = "
        "?)",
        node));
}

void end_lease(sql_session& session, std::string_view node) {
    session.execute(
        "UPDATE nodes SET expires_at = 0, is_gone = CASE WHEN is_gone = 0 AND EXISTS(SELECT 1 FROM "
        "tasks WHERE line = 8 * number + 2) THEN 0 ELSE 1 END WHERE id = ?",
        node);
}

std::vector<node_record> read_nodes(sql_session& session) {
    const sqlite::rows found = session.query(
        "SELECT id, host, pid, started_at, expires_at, coalesce(clock_offset, 0), EXISTS(SELECT 1 "
        "FROM workers WHERE node = number) FROM nodes INDEXED BY nodes_here WHERE is_gone = 0 AND "
        "expires_at > 0 ORDER BY number");
    std::vector<node_record> nodes;
    for (const sqlite::row each : found) {
        node_record& node = nodes.emplace_back();
        node.id = each.get<std::string>(0);
        node.host = each.get<std::string>(1);
        node.pid = each.get<std::int64_t>(2);
        node.started_at = time_of(each.get<std::int64_t>(3));
        node.expires_at = time_of(each.get<std::int64_t>(4));
        node.clock_offset = std::chrono::microseconds(each.get<std::int64_t>(5));
        node.is_worker = each.get<bool>(6);
    }
    return nodes;
}

heartbeat_answer renew_lease(sql_session& session, const node_record& node, timestamp now) {
    heartbeat_answer answer;
    const sqlite::rows found = session.query(
        "SELECT number, host, pid, started_at, expires_at, is_gone, clock_offset FROM nodes WHERE "
        "id = ?",
        node.id);
    if (found.empty()) {
        answer.clock_offset = clock_offset(session, node, now);
        session.execute(
            "INSERT INTO nodes(id, host, pid, started_at, expires_at, clock_offset) VALUES (?, ?, "
            "?, ?, ?, ?)",
            node.id, node.host, node.pid, number_of(node.started_at),
            number_of(node.expires_at + (answer.clock_offset - node.clock_offset)),
            answer.clock_offset.count());
        return answer;
    }
    const sqlite::row row = found[0];
    // Where the answer to its first heartbeat was lost, the node does not know of the clock yet.
    answer.clock_offset = std::chrono::microseconds(
        row.get<std::optional<std::int64_t>>(6).value_or(node.clock_offset.count()));
    const std::chrono::microseconds ahead = answer.clock_offset - node.clock_offset;
    const bool is_same = row.get<std::string_view>(1) == node.host &&
                         row.get<std::int64_t>(2) == node.pid &&
                         row.get<std::int64_t>(3) == number_of(node.started_at);
    answer.is_alive =
        is_same && !row.get<bool>(5) && row.get<std::int64_t>(4) > number_of(now + ahead);
    if (!answer.is_alive) {
        return answer;
    }
    const auto number = row.get<std::int64_t>(0);
    answer.is_alive = session.count(
                          "UPDATE nodes SET expires_at = max(expires_at, ?) WHERE number = ? AND "
                          "is_gone = 0",
                          number_of(node.expires_at + ahead), number) > 0;
    return answer;
}

std::vector<run_key> runs_to_cancel(sql_session& session, std::string_view node) {
    session.wait_briefly_for_locks();
    const std::optional<std::int64_t> number = node_number(session, node);
    if (!number.has_value()) {
        return {};
    }
    return read_runs(session.query(
        "SELECT id, run FROM tasks WHERE line = ? AND (is_cancelling = 1 OR in_group IN (SELECT id "
        "FROM task_groups WHERE state = 1))",
        running_line(*number)));
}

rescue_batch rescue_tasks(sql_session& session, moment now, std::uint32_t max_crashes,
                          std::size_t limit, event_list& events, id_source& ids,
                          std::size_t max_queues) {
    rescue_batch batch;
    const sqlite::rows dead =
        session.query("SELECT number, id FROM nodes WHERE is_gone = 0 AND expires_at <= ? LIMIT 1",
                      number_of(now.steady));
    if (dead.empty()) {
        return batch;
    }
    batch.is_last = false;
    const auto node = dead[0].get<std::int64_t>(0);
    static const std::string sql =
        "SELECT id, queue, flow, run, crashes, is_cancelling, started_at, priority, branch, " +
        std::string(end_columns) + " FROM tasks WHERE line = ? LIMIT ?";
    const sqlite::rows orphans = session.query(sql, running_line(node), limit);
    if (orphans.size() < limit) {
        session.execute("UPDATE nodes SET is_gone = 1 WHERE number = ?", node);
    }
    ledger books(session, now);
    task_ends ends(session, books, ids, events, now, max_queues);
    for (const sqlite::row each : orphans) {
        const auto id = each.get<std::int64_t>(0);
        const std::uint32_t crashes = each.get<std::uint32_t>(4) + 1;
        attempt_record attempt;
        attempt.run = each.get<std::uint32_t>(3);
        attempt.end = attempt_end::crashed;
        attempt.started_at = time_of(each.get<std::int64_t>(6));
        attempt.ended_at = now.at;
        attempt.error = crash_error;
        attempt.node = dead[0].get<std::string>(1);
        task_state state = task_state::pending;
        std::string error = attempt.error;
        if (each.get<bool>(5)) {
            state = task_state::cancelled;
            ++batch.result.cancelled;
        } else if (crashes >= max_crashes) {
            state = task_state::failed;
            error = crash_limit_error(crashes);
            ++batch.result.failed;
            batch.result.failed_tasks.emplace_back(id);
        } else {
            ++batch.result.returned;
        }
        const bool is_due = state == task_state::pending;
        const task_place place = books.place(each.get<std::int64_t>(1), each.get<std::int64_t>(2),
                                             each.get<std::optional<std::int64_t>>(8));
        const line_position position =
            is_due ? line_position{due_line(place), -each.get<std::int64_t>(7)}
                   : line_position{ended_line(state), number_of(now.at)};
        session.execute_row(
            "UPDATE tasks SET state = ?1, line = ?2, rank = ?3, is_cancelling = 0, crashes = ?4, "
            "due_at = iif(?1 = 0, ?5, due_at), finished_at = iif(?1 = 0, NULL, ?5), error = ?6 "
            "WHERE id = ?7",
            static_cast<int>(state), position.line, position.rank, crashes, number_of(now.at),
            error, id);
        add_attempt(session, id, attempt);
        books.moves(place, {task_state::running, false}, {state, is_due});
        events.add(session, id);
        if (is_final(state)) {
            ends.add(id, state, read_end_facts(each, 9));
        }
    }
    ends.close();
    books.close();
    return batch;
}

}  // namespace weir::service::detail
