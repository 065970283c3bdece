// SPDX-License-Identifier: MIT
// Every write names the task by id, state, run and node: a settlement that comes too late finds no
// row. A task that ends is written first, and the same statement returns what is to be counted;
// PostgreSQL writes the next ones meanwhile. A task that goes on is read first, since somebody may
// have cancelled it.

#include "service/store/sqlite/settle.hpp"

#include "service/store/sqlite/rows/read_ahead.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>

namespace weir::service::detail {

namespace {

// Of a task that is settled.
std::string settled_columns() {
    return "id, queue, flow, branch, is_cancelling, started_at, priority, kind, " +
           std::string(end_columns) + ", due_at, progress, message";
}
constexpr std::size_t first_end_column = 8;
constexpr std::size_t first_event_column = first_end_column + end_column_count;

}  // namespace

bool settlement_writer::write(const settlement& ended) {
    return write_all({&ended, 1}).front();
}

std::vector<bool> settlement_writer::write_all(std::span<const settlement> all) {
    settlements completed;
    settlements ended;
    settlements unended;
    std::vector<std::size_t> repeated;  // their task is in the list before them
    ids seen;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!seen.insert(all[i].key.id.number()).second) {
            repeated.push_back(i);
        } else if (all[i].state == task_state::completed) {
            completed.push_back(&all[i]);
        } else {
            (is_final(all[i].state) ? ended : unended).push_back(&all[i]);
        }
    }
    ids written;
    write_ended(completed, written);
    write_ended(ended, written);
    write_unended(unended, written);
    std::vector<bool> answers;
    answers.reserve(all.size());
    for (const settlement& each : all) {
        answers.push_back(written.contains(each.key.id.number()));
    }
    for (const std::size_t i : repeated) {
        answers[i] = write(all[i]);
    }
    return answers;
}

void settlement_writer::write_ended(const settlements& all, ids& written) {
    std::unordered_map<std::int64_t, const settlement*> by_id;
    by_id.reserve(all.size());
    for (const settlement* const each : all) {
        by_id.emplace(each->key.id.number(), each);
    }
    std::vector<std::unique_ptr<sql_changes>> parts;
    const auto start_part = [&](std::size_t from) {
        parts.push_back(
            start_ending(std::span(all).subspan(from, std::min(rows_together, all.size() - from))));
    };
    if (!all.empty()) {
        start_part(0);
    }
    for (std::size_t part = 0; part < parts.size(); ++part) {
        const std::vector<sqlite::rows> changed = parts[part]->take();
        std::vector<sqlite::row> rows;
        rows.reserve(rows_together);
        for (const sqlite::rows& each : changed) {
            rows.insert(rows.end(), each.begin(), each.end());
        }
        // Before the other parts begin, which it would wait for.
        read_places(rows);
        for (std::size_t from = rows_together; part == 0 && from < all.size();
             from += rows_together) {
            start_part(from);
        }
        for (const sqlite::row& row : rows) {
            const auto id = row.get<std::int64_t>(0);
            const settlement& ended = *by_id.at(id);
            note(ended, ended.state, row);
            written.insert(id);
        }
    }
}

std::unique_ptr<sql_changes> settlement_writer::start_ending(
    std::span<const settlement* const> all) {
    static const std::string completed_sql =
        "UPDATE tasks SET state = 2, line = ?1, rank = ?2, is_cancelling = 0, finished_at = ?2, "
        "failures = ?3, error = NULL, held_by = NULL, result = ?4 WHERE id = ?5 AND state = 1 AND "
        "run = ?6 AND node = ?7 RETURNING " +
        settled_columns();
    static const std::string ended_sql =
        "UPDATE tasks SET state = ?5, line = ?1, rank = ?2, is_cancelling = 0, finished_at = ?2, "
        "failures = ?3, error = ?4, held_by = NULL WHERE id = ?6 AND state = 1 AND run = ?7 AND "
        "node = ?8 RETURNING " +
        settled_columns();
    const bool are_completed = all.front()->state == task_state::completed;
    std::vector<sql_values> sets;
    sets.reserve(all.size());
    for (const settlement* const each : all) {
        sql_values& set = sets.emplace_back(
            sql_session::values_of(ended_line(each->state), number_of(now_.at), each->failures,
                                   null_if_empty(are_completed ? each->result : each->error)));
        if (!are_completed) {
            set.emplace_back(static_cast<int>(each->state));
        }
        set.emplace_back(each->key.id.number());
        set.emplace_back(each->key.run);
        set.emplace_back(node_number_);
    }
    return session_.change_each(are_completed ? completed_sql : ended_sql, std::move(sets));
}

void settlement_writer::write_unended(const settlements& all, ids& written) {
    static const std::string sql =
        "SELECT " + settled_columns() +
        " FROM tasks WHERE id = ? AND state = 1 AND run = ? AND node = ?";
    std::vector<sql_values> keys;
    keys.reserve(all.size());
    for (const settlement* const each : all) {
        keys.push_back(sql_values{each->key.id.number(), each->key.run, node_number_});
    }
    const sql_groups found = session_.query_each(sql, std::move(keys));
    std::vector<sqlite::row> rows;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (found.count(i) > 0) {
            rows.push_back(found.row(i, 0));
        }
    }
    read_places(rows);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (found.count(i) > 0) {
            const sqlite::row row = found.row(i, 0);
            note(*all[i], row.get<bool>(4) ? task_state::cancelled : task_state::pending, row);
            written.insert(all[i]->key.id.number());
        }
    }
}

void settlement_writer::read_places(std::span<const sqlite::row> tasks) {
    std::set<std::int64_t> queues;
    std::set<std::int64_t> flows;
    std::set<std::int64_t> branches;
    for (const sqlite::row& row : tasks) {
        queues.insert(row.get<std::int64_t>(1));
        flows.insert(row.get<std::int64_t>(2));
        if (const auto branch = row.get<std::optional<std::int64_t>>(3)) {
            branches.insert(*branch);
        }
    }
    read_ahead(session_, books_, queues, flows, branches);
}

// The task is to be in this state. It is written already if it is to end, unless it was to go on.
void settlement_writer::note(const settlement& ended, task_state state, const sqlite::row& row) {
    const std::int64_t id = ended.key.id.number();
    const auto priority = row.get<std::int64_t>(6);
    const bool is_due = state == task_state::pending && ended.due_at <= now_.steady;
    const task_place before = books_.place(row.get<std::int64_t>(1), row.get<std::int64_t>(2),
                                           row.get<std::optional<std::int64_t>>(3));
    books_.leaves(before, {task_state::running, false});
    if (before.branch != nullptr) {
        books_.destination(before.branch->destination).gate().ended(ended.learnt, now_.steady);
    }
    if (!ended.learnt.gone.empty()) {
        session_.execute(
            "INSERT INTO disabled_endpoints(kind, name, since, reason) SELECT ?, ?, CAST(? AS "
            "BIGINT), ? WHERE (SELECT count(*) FROM disabled_endpoints) < ? ON CONFLICT DO NOTHING",
            row.get<std::string_view>(7), ended.learnt.gone, number_of(now_.at), ended.error,
            max_disabled_endpoints);
    }
    const bool is_assigned =
        before.branch == nullptr && state == task_state::pending && !ended.destination.empty();
    const task_place place =
        is_assigned ? assign_branch(ended, before, row.get<std::string_view>(7)) : before;
    if (state == task_state::pending) {
        write_pending(ended, backoff_position(place, priority, ended.due_at, now_));
    } else if (ended.state == task_state::pending) {
        cancel(ended);
    }
    if (ended.attempt.has_value()) {
        attempt_record attempt;
        attempt.run = ended.key.run;
        attempt.end = *ended.attempt;
        attempt.started_at = time_of(row.get<std::int64_t>(5));
        attempt.ended_at = now_.at;
        attempt.error = ended.error;
        attempt.node = node_;
        add_attempt(session_, id, attempt);
    }
    books_.enters(place, {state, is_due}, {-priority, id});
    if (is_final(state)) {
        add_event(ended, state, place, row);
        ends_.add(id, state, read_end_facts(row, first_end_column));
    } else {
        events_.add(session_, id);
    }
}

// Of a task that has ended.
void settlement_writer::add_event(const settlement& ended, task_state state,
                                  const task_place& place, const sqlite::row& row) {
    if (!events_.is_observed()) {
        return;
    }
    task_record task;
    task.id = ended.key.id;
    task.run = ended.key.run;
    task.queue = place.queue.name;
    task.kind = row.get<std::string>(7);
    task.state = state;
    task.failures = ended.failures;
    task.error = state == task_state::completed ? std::string() : ended.error;
    task.started_at = time_of(row.get<std::int64_t>(5));
    task.due_at = time_of(row.get<std::int64_t>(first_event_column));
    task.progress = row.get<std::optional<double>>(first_event_column + 1).value_or(0);
    task.message = row.get<std::optional<std::string>>(first_event_column + 2).value_or("");
    events_.add(task);
}

task_place settlement_writer::assign_branch(const settlement& ended, const task_place& place,
                                            std::string_view kind) {
    branch_row& branch = books_.branch(place.flow, books_.destination(kind, ended.destination));
    session_.execute("UPDATE tasks SET branch = ? WHERE id = ?", branch.id, ended.key.id.number());
    return {place.queue, place.flow, &branch};
}

void settlement_writer::cancel(const settlement& ended) {
    session_.execute_row(
        "UPDATE tasks SET state = 4, line = ?1, rank = ?2, is_cancelling = 0, finished_at = ?2, "
        "failures = ?3, error = ?4, held_by = NULL WHERE id = ?5",
        ended_line(task_state::cancelled), number_of(now_.at), ended.failures,
        null_if_empty(ended.error), ended.key.id.number());
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
