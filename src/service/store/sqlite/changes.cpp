// SPDX-License-Identifier: MIT
// Each change reads where the task is, writes its row, and moves it in the counts of its queue and
// flow. A running task is only marked as cancelling: its node learns of that from its heartbeat.

#include "service/store/sqlite/changes.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weir::service::detail {

struct task_changes::task_position {
    static std::optional<task_position> read(sqlite::session& session, std::int64_t id, moment now);

    std::int64_t queue = 0;
    std::int64_t flow = 0;
    std::optional<std::int64_t> branch;
    standing counted;
    bool is_cancelling = false;
    bool is_waiting = false;  // for its time, which has not come
    bool has_callbacks = false;
    std::int64_t priority = 0;
    std::string unique_key;
};

std::optional<task_changes::task_position> task_changes::task_position::read(
    sqlite::session& session, std::int64_t id, moment now) {
    const sqlite::rows found = session.query(
        "SELECT queue, flow, state, line, is_cancelling, rank, priority, branch, "
        "coalesce(unique_key, ''), callbacks IS NOT NULL FROM tasks WHERE id = ?",
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
    position.branch = row.get<std::optional<std::int64_t>>(7);
    const auto line = row.get<std::int64_t>(3);
    position.counted.is_due = state == task_state::pending && line != later_line(position.queue) &&
                              line != backoff_line(position.queue);
    position.is_cancelling = row.get<bool>(4);
    const timestamp until = time_of(row.get<std::int64_t>(5));
    position.is_waiting = (line == later_line(position.queue) && until > now.at) ||
                          (line == backoff_line(position.queue) && until > now.steady);
    position.priority = row.get<std::int64_t>(6);
    position.unique_key = row.get<std::string>(8);
    position.has_callbacks = row.get<bool>(9);
    return position;
}

change_result task_changes::cancel(task_id id) {
    const std::optional<task_position> found = task_position::read(session_, id.number(), now_);
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
        ended_line(task_state::cancelled), number_of(now_.at), id.number());
    books_.moves(books_.place(found->queue, found->flow, found->branch), found->counted,
                 {task_state::cancelled, false});
    events_.add(session_, id.number());
    if (found->has_callbacks) {
        ends_.add(id.number());
    }
    books_.close();
    return change_result::done;
}

change_result task_changes::retry(task_id id) {
    const std::optional<task_position> found = task_position::read(session_, id.number(), now_);
    if (!found.has_value()) {
        return change_result::not_found;
    }
    switch (found->counted.state) {
        case task_state::running:
        case task_state::completed:
            return change_result::no_change;
        case task_state::pending: {
            if (!found->is_waiting) {
                return change_result::no_change;
            }
            const task_place place = books_.place(found->queue, found->flow, found->branch);
            session_.execute(
                "UPDATE tasks SET line = ?, rank = ?, due_at = ?, held_by = NULL WHERE id = ?",
                due_line(place), -found->priority, number_of(now_.at), id.number());
            books_.moves(place, found->counted, {task_state::pending, true});
            break;
        }
        case task_state::failed:
        case task_state::cancelled:
            if (!restart(id.number(), *found)) {
                return change_result::key_taken;
            }
            break;
    }
    books_.close();
    events_.add(session_, id.number());
    return change_result::done;
}

std::size_t task_changes::restart_failed(std::span<const std::int64_t> ids) {
    std::vector<std::int64_t> restarted;
    for (const std::int64_t id : ids) {
        const std::optional<task_position> found = task_position::read(session_, id, now_);
        if (found.has_value() && found->counted.state == task_state::failed) {
            if (restart(id, *found)) {
                restarted.push_back(id);
            }
        }
    }
    books_.close();
    for (const std::int64_t id : restarted) {
        events_.add(session_, id);
    }
    return restarted.size();
}

bool task_changes::restart(std::int64_t id, const task_position& position) {
    if (!position.unique_key.empty()) {
        if (holder_of(session_, position.unique_key) != 0) {
            return false;
        }
        hold_key(session_, position.unique_key, id);
    }
    const task_place place = books_.place(position.queue, position.flow, position.branch);
    session_.execute(
        "UPDATE tasks SET state = 0, line = ?, rank = ?, is_cancelling = 0, due_at = ?, "
        "finished_at = "
        "NULL, failures = 0, crashes = 0, progress = NULL, message = NULL, held_by = NULL WHERE "
        "id = ?",
        due_line(place), -position.priority, number_of(now_.at), id);
    books_.moves(place, position.counted, {task_state::pending, true});
    return true;
}

}  // namespace weir::service::detail
