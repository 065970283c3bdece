// SPDX-License-Identifier: MIT
// Each change reads where the task is, writes its row, and moves it in the counts of its queue and
// flow. A running task is only marked as cancelling: its node learns of that from its heartbeat.

#include "service/store/sqlite/changes.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

#include <optional>

namespace weir::service::detail {

struct task_changes::task_position {
    static std::optional<task_position> read(sqlite::session& session, std::int64_t id);

    std::int64_t queue = 0;
    std::int64_t flow = 0;
    standing counted;
    bool is_cancelling = false;
    timestamp due_at{};
    std::int64_t priority = 0;
};

std::optional<task_changes::task_position> task_changes::task_position::read(
    sqlite::session& session, std::int64_t id) {
    const sqlite::rows found = session.query(
        "SELECT queue, flow, state, line, is_cancelling, due_at, priority FROM tasks WHERE id = ?",
        id);
    if (found.empty()) {
        return std::nullopt;
    }
    const sqlite::row row = found[0];
    task_position position;
    position.queue = row.get<std::int64_t>(0);
    position.flow = row.get<std::int64_t>(1);
    const auto state = static_cast<task_state>(row.get<int>(2));
    position.counted.state = state;
    position.counted.is_due =
        state == task_state::pending && row.get<std::int64_t>(3) == due_line(position.flow);
    position.is_cancelling = row.get<bool>(4);
    position.due_at = time_of(row.get<std::int64_t>(5));
    position.priority = row.get<std::int64_t>(6);
    return position;
}

change_result task_changes::cancel(task_id id) {
    const std::optional<task_position> found = task_position::read(session_, id.number());
    if (!found.has_value()) {
        return change_result::not_found;
    }
    if (is_final(found->counted.state) || found->is_cancelling) {
        return change_result::no_change;
    }
    if (found->counted.state == task_state::running) {
        session_.execute("UPDATE tasks SET is_cancelling = 1 WHERE id = ?", id.number());
        events_.add(session_, id.number());
        return change_result::requested;
    }
    session_.execute(
        "UPDATE tasks SET state = 4, line = ?1, rank = ?2, finished_at = ?2, held_by = NULL WHERE "
        "id = ?3",
        ended_line(task_state::cancelled), number_of(now_), id.number());
    books_.moves(books_.queue(found->queue), books_.flow(found->flow), found->counted,
                 {task_state::cancelled, false});
    books_.close();
    events_.add(session_, id.number());
    return change_result::done;
}

change_result task_changes::retry(task_id id) {
    const std::optional<task_position> found = task_position::read(session_, id.number());
    if (!found.has_value()) {
        return change_result::not_found;
    }
    switch (found->counted.state) {
        case task_state::running:
        case task_state::completed:
            return change_result::no_change;
        case task_state::pending:
            if (found->counted.is_due || found->due_at <= now_) {
                return change_result::no_change;
            }
            session_.execute(
                "UPDATE tasks SET line = ?, rank = ?, due_at = ?, held_by = NULL WHERE id = ?",
                due_line(found->flow), -found->priority, number_of(now_), id.number());
            books_.moves(books_.queue(found->queue), books_.flow(found->flow), found->counted,
                         {task_state::pending, true});
            break;
        case task_state::failed:
        case task_state::cancelled:
            restart(id.number(), *found);
            break;
    }
    books_.close();
    events_.add(session_, id.number());
    return change_result::done;
}

void task_changes::restart(std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids) {
        const std::optional<task_position> found = task_position::read(session_, id);
        restart(id, found.value());
    }
    books_.close();
    for (const std::int64_t id : ids) {
        events_.add(session_, id);
    }
}

void task_changes::restart(std::int64_t id, const task_position& position) {
    session_.execute(
        "UPDATE tasks SET state = 0, line = ?, rank = ?, is_cancelling = 0, due_at = ?, "
        "finished_at = "
        "NULL, failures = 0, crashes = 0, progress = NULL, message = NULL, held_by = NULL WHERE "
        "id = ?",
        due_line(position.flow), -position.priority, number_of(now_), id);
    books_.moves(books_.queue(position.queue), books_.flow(position.flow), position.counted,
                 {task_state::pending, true});
}

}  // namespace weir::service::detail
