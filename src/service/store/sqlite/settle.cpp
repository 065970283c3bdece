// SPDX-License-Identifier: MIT
// Every write names the task by id, state, run and node: a settlement that comes too late finds no
// row.

#include "service/store/sqlite/settle.hpp"

#include "service/store/sqlite/rows/read_ahead.hpp"

#include <set>
#include <string>

namespace weir::service::detail {

namespace {

std::string running_task_query() {
    return "SELECT queue, flow, branch, is_cancelling, started_at, priority, kind, " +
           std::string(end_columns) + ", due_at, progress, message" +
           " FROM tasks WHERE id = ? AND state = 1 AND run = ? AND node = ?";
}

}  // namespace

bool settlement_writer::write(const settlement& ended) {
    return write_all({&ended, 1}).front();
}

std::vector<bool> settlement_writer::write_all(std::span<const settlement> all) {
    static const std::string sql = running_task_query();
    std::vector<sql_values> keys;
    keys.reserve(all.size());
    for (const settlement& each : all) {
        keys.push_back(sql_values{each.key.id.number(), each.key.run, node_number_});
    }
    const sql_groups found = session_.query_each(sql, std::move(keys));
    read_places(found);
    std::vector<bool> written(all.size(), false);
    std::set<task_id> seen;
    for (std::size_t i = 0; i < all.size(); ++i) {
        // A task that is in the list twice was read before the first one was written.
        if (!seen.insert(all[i].key.id).second) {
            written[i] = write(all[i]);
        } else if (found.count(i) > 0) {
            write(all[i], found.row(i, 0));
            written[i] = true;
        }
    }
    return written;
}

void settlement_writer::read_places(const sql_groups& tasks) {
    std::set<std::int64_t> queues;
    std::set<std::int64_t> flows;
    std::set<std::int64_t> branches;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (tasks.count(i) > 0) {
            const sqlite::row row = tasks.row(i, 0);
            queues.insert(row.get<std::int64_t>(0));
            flows.insert(row.get<std::int64_t>(1));
            if (const auto branch = row.get<std::optional<std::int64_t>>(2)) {
                branches.insert(*branch);
            }
        }
    }
    read_ahead(session_, books_, queues, flows, branches);
}

void settlement_writer::write(const settlement& ended, const sqlite::row& row) {
    const std::int64_t id = ended.key.id.number();
    task_state state = ended.state;
    if (state == task_state::pending && row.get<bool>(3)) {
        state = task_state::cancelled;
    }
    const bool is_due = state == task_state::pending && ended.due_at <= now_.steady;
    const task_place before = books_.place(row.get<std::int64_t>(0), row.get<std::int64_t>(1),
                                           row.get<std::optional<std::int64_t>>(2));
    books_.leaves(before, {task_state::running, false});
    if (before.branch != nullptr) {
        books_.destination(before.branch->destination).gate().ended(ended.learnt, now_.steady);
    }
    if (!ended.learnt.gone.empty()) {
        session_.execute(
            "INSERT INTO disabled_endpoints(kind, name, since, reason) SELECT ?, ?, CAST(? AS "
            "BIGINT), ? WHERE (SELECT count(*) FROM disabled_endpoints) < ? ON CONFLICT DO NOTHING",
            row.get<std::string_view>(6), ended.learnt.gone, number_of(now_.at), ended.error,
            max_disabled_endpoints);
    }
    const bool is_assigned =
        before.branch == nullptr && state == task_state::pending && !ended.destination.empty();
    const task_place place =
        is_assigned ? assign_branch(ended, before, row.get<std::string_view>(6)) : before;
    if (state == task_state::pending) {
        write_pending(ended, backoff_position(place, row.get<std::int64_t>(5), ended.due_at, now_));
    } else {
        write_final(ended, state);
    }
    if (ended.attempt.has_value()) {
        attempt_record attempt;
        attempt.run = ended.key.run;
        attempt.end = *ended.attempt;
        attempt.started_at = time_of(row.get<std::int64_t>(4));
        attempt.ended_at = now_.at;
        attempt.error = ended.error;
        attempt.node = node_;
        add_attempt(session_, id, attempt);
    }
    books_.enters(place, {state, is_due}, {-row.get<std::int64_t>(5), id});
    if (is_final(state)) {
        add_event(ended, state, place, row);
    } else {
        events_.add(session_, id);
    }
    if (is_final(state)) {
        ends_.add(id, state, read_end_facts(row, 7));
    }
}

// The task as write_final() leaves it.
void settlement_writer::add_event(const settlement& ended, task_state state,
                                  const task_place& place, const sqlite::row& row) {
    if (!events_.is_observed()) {
        return;
    }
    constexpr std::size_t first = 7 + end_column_count;
    task_record task;
    task.id = ended.key.id;
    task.run = ended.key.run;
    task.queue = place.queue.name;
    task.kind = row.get<std::string>(6);
    task.state = state;
    task.failures = ended.failures;
    task.error = state == task_state::completed ? std::string() : ended.error;
    task.started_at = time_of(row.get<std::int64_t>(4));
    task.due_at = time_of(row.get<std::int64_t>(first));
    task.progress = row.get<std::optional<double>>(first + 1).value_or(0);
    task.message = row.get<std::optional<std::string>>(first + 2).value_or("");
    events_.add(task);
}

task_place settlement_writer::assign_branch(const settlement& ended, const task_place& place,
                                            std::string_view kind) {
    branch_row& branch = books_.branch(place.flow, books_.destination(kind, ended.destination));
    session_.execute("UPDATE tasks SET branch = ? WHERE id = ?", branch.id, ended.key.id.number());
    return {place.queue, place.flow, &branch};
}

void settlement_writer::write_final(const settlement& ended, task_state state) {
    const std::int64_t id = ended.key.id.number();
    if (state == task_state::completed) {
        session_.execute_row(
            "UPDATE tasks SET state = 2, line = ?1, rank = ?2, is_cancelling = 0, finished_at = "
            "?2, failures = ?3, result = ?4, error = NULL, held_by = NULL WHERE id = ?5",
            ended_line(state), number_of(now_.at), ended.failures, null_if_empty(ended.result), id);
        return;
    }
    session_.execute_row(
        "UPDATE tasks SET state = ?1, line = ?2, rank = ?3, is_cancelling = 0, finished_at = ?3, "
        "failures = ?4, error = ?5, held_by = NULL WHERE id = ?6",
        static_cast<int>(state), ended_line(state), number_of(now_.at), ended.failures,
        null_if_empty(ended.error), id);
}

void settlement_writer::write_pending(const settlement& ended, line_position position) {
    session_.execute_row(
        "UPDATE tasks SET state = 0, line = ?, rank = ?, is_cancelling = 0, due_at = ?, failures = "
        "?, "
        "error = coalesce(?, error), held_by = ? WHERE id = ?",
        position.line, position.rank, number_of(now_.calendar_of(ended.due_at)), ended.failures,
        null_if_empty(ended.error), null_if_empty(ended.held_by), ended.key.id.number());
}

}  // namespace weir::service::detail
