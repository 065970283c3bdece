// SPDX-License-Identifier: MIT
// A running task is in the line of its node. Its rank there is the poll that has claimed it, for a
// task of a worker.

#include "service/store/sqlite/start.hpp"

#include "service/store/sqlite/rows/group_rows.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"
#include "service/store/sqlite/steps.hpp"

namespace weir::service::detail {

bool task_starter::move_due(queue_row& queue) {
    if (queue.count(task_state::pending) <= queue.due) {
        return false;
    }
    const bool has_moved_later = move_due(queue, later_line(queue.id), now_.at);
    const bool has_moved_delayed = move_due(queue, backoff_line(queue.id), now_.steady);
    return has_moved_later || has_moved_delayed;
}

bool task_starter::move_due(queue_row& queue, std::int64_t line, timestamp now) {
    const sqlite::rows due = session_.query(
        "SELECT id, flow, priority, branch FROM tasks WHERE line = ? AND rank <= ? ORDER BY rank "
        "LIMIT ?",
        line, number_of(now), move_limit);
    for (const sqlite::row each : due) {
        const task_place place = books_.place(queue.id, each.get<std::int64_t>(1),
                                              each.get<std::optional<std::int64_t>>(3));
        session_.execute_row("UPDATE tasks SET line = ?, rank = ? WHERE id = ?", due_line(place),
                             -each.get<std::int64_t>(2), each.get<std::int64_t>(0));
        books_.moves(place, {task_state::pending, false}, {task_state::pending, true},
                     {-each.get<std::int64_t>(2), each.get<std::int64_t>(0)});
    }
    has_more_ = has_more_ || due.size() == move_limit;
    return !due.empty();
}

std::optional<std::int64_t> task_starter::first_rank(std::int64_t line) {
    return session_.query("SELECT min(rank) FROM tasks WHERE line = ?", line)
        .one<std::optional<std::int64_t>>();
}

std::optional<timestamp> task_starter::next_due(queue_row& queue) {
    if (queue.count(task_state::pending) <= queue.due) {
        return std::nullopt;
    }
    std::optional<timestamp> first;
    if (const std::optional<std::int64_t> run_at = first_rank(later_line(queue.id))) {
        first = now_.steady_of(time_of(*run_at));
    }
    if (const std::optional<std::int64_t> delayed = first_rank(backoff_line(queue.id))) {
        first = std::min(first.value_or(timestamp::max()), time_of(*delayed));
    }
    return first;
}

task_record task_starter::start(const sqlite::row& row, const task_place& place, const runner& by) {
    task_record task = read_task(row);
    if (task.group && is_cancelled(task.group)) {
        park(task.id.number(), place);
        return {};
    }
    if (is_expired(task, now_.at)) {
        park(task.id.number(), place);
        expired_.push_back({task.id.number(), *task.expires_at});
        return {};
    }
    read_steps(session_, task);
    read_parents(session_, task);
    task.state = task_state::running;
    ++task.run;
    task.queue = place.queue.name;
    task.flow_key = place.flow.key;
    task.node = by.node;
    task.started_at = now_.at;
    task.progress = 0;
    task.message.clear();
    task.held_by.clear();
    session_.execute_row(
        "UPDATE tasks SET state = 1, line = ?, rank = ?, run = run + 1, node = ?, started_at = ?, "
        "progress = NULL, message = NULL, held_by = NULL WHERE id = ?",
        running_line(by.number), by.poll, by.number, number_of(now_.at), task.id.number());
    books_.moves(place, {task_state::pending, true}, {task_state::running, false});
    return task;
}

bool task_starter::is_cancelled(group_id group) {
    const auto [known, is_new] = cancelled_groups_.try_emplace(group, false);
    if (is_new) {
        known->second =
            !session_.query("SELECT 1 FROM task_groups WHERE id = ? AND state = 1", group.number())
                 .empty();
    }
    return known->second;
}

// The task leaves the due tasks, and waits to be cancelled.
void task_starter::park(std::int64_t task, const task_place& place) {
    const line_position position = waiting_position(place, task);
    session_.execute("UPDATE tasks SET line = ?, rank = ? WHERE id = ?", position.line,
                     position.rank, task);
    books_.moves(place, {task_state::pending, true}, {task_state::pending, false});
}

}  // namespace weir::service::detail
