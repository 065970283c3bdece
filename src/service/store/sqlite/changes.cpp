// SPDX-License-Identifier: MIT
// Changes that clients request: cancel and retry tasks, redrive, pause and limit queues.

#include "service/store/sqlite/task_rows.hpp"

namespace weir::service::detail {

namespace {

struct place_of_task {
    std::int64_t queue = 0;
    std::int64_t flow = 0;
    standing as;
    bool is_cancelling = false;
    timestamp due_at{};
    std::int64_t priority = 0;
};

std::optional<place_of_task> look_up(sqlite::session& on, std::int64_t id) {
    const sqlite::rows found = on.query(
        "SELECT queue, flow, state, line, is_cancelling, due_at, priority FROM tasks WHERE id = ?",
        id);
    if (found.empty()) {
        return std::nullopt;
    }
    const sqlite::row row = found[0];
    place_of_task read;
    read.queue = row.get<std::int64_t>(0);
    read.flow = row.get<std::int64_t>(1);
    read.as.state = static_cast<task_state>(row.get<int>(2));
    read.as.is_due =
        read.as.state == task_state::pending && row.get<std::int64_t>(3) == due_line(read.flow);
    read.is_cancelling = row.get<bool>(4);
    read.due_at = time_of(row.get<std::int64_t>(5));
    read.priority = row.get<std::int64_t>(6);
    return read;
}

// The task gets all its attempts again, as if it were new.
void begin_again(sqlite::session& on, ledger& books, std::int64_t id, const place_of_task& is,
                 timestamp now) {
    on.execute(
        "UPDATE tasks SET state = 0, line = ?, rank = ?, is_cancelling = 0, due_at = ?, "
        "finished_at = "
        "NULL, failures = 0, crashes = 0, progress = NULL, message = NULL, held_by = NULL WHERE "
        "id = ?",
        due_line(is.flow), -is.priority, number_of(now), id);
    books.moves(books.queue(is.queue), books.flow(is.flow), is.as, {task_state::pending, true});
}

}  // namespace

change_result cancel_task(sqlite::session& on, task_id id, timestamp now, event_list& events) {
    const std::optional<place_of_task> found = look_up(on, id.number());
    if (!found.has_value()) {
        return change_result::not_found;
    }
    if (is_final(found->as.state) || found->is_cancelling) {
        return change_result::no_change;
    }
    if (found->as.state == task_state::running) {
        on.execute("UPDATE tasks SET is_cancelling = 1 WHERE id = ?", id.number());
        events.add(on, id.number());
        return change_result::requested;
    }
    on.execute(
        "UPDATE tasks SET state = 4, line = ?1, rank = ?2, finished_at = ?2, held_by = NULL WHERE "
        "id = ?3",
        ended_line(task_state::cancelled), number_of(now), id.number());
    ledger books(on, now);
    books.moves(books.queue(found->queue), books.flow(found->flow), found->as,
                {task_state::cancelled, false});
    books.close();
    events.add(on, id.number());
    return change_result::done;
}

change_result retry_task(sqlite::session& on, task_id id, timestamp now, event_list& events) {
    const std::optional<place_of_task> found = look_up(on, id.number());
    if (!found.has_value()) {
        return change_result::not_found;
    }
    ledger books(on, now);
    switch (found->as.state) {
        case task_state::running:
        case task_state::completed:
            return change_result::no_change;
        case task_state::pending:
            if (found->as.is_due || found->due_at <= now) {
                return change_result::no_change;
            }
            on.execute(
                "UPDATE tasks SET line = ?, rank = ?, due_at = ?, held_by = NULL WHERE id = ?",
                due_line(found->flow), -found->priority, number_of(now), id.number());
            books.moves(books.queue(found->queue), books.flow(found->flow), found->as,
                        {task_state::pending, true});
            break;
        case task_state::failed:
        case task_state::cancelled:
            begin_again(on, books, id.number(), *found, now);
            break;
    }
    books.close();
    events.add(on, id.number());
    return change_result::done;
}

std::size_t redrive_tasks(sqlite::session& on, const task_filter& filter, timestamp now,
                          event_list& events) {
    const std::vector<std::int64_t> ids = list_failed(on, filter, now);
    ledger books(on, now);
    for (const std::int64_t id : ids) {
        const std::optional<place_of_task> found = look_up(on, id);
        begin_again(on, books, id, found.value(), now);
    }
    books.close();
    for (const std::int64_t id : ids) {
        events.add(on, id);
    }
    return ids.size();
}

void check_room_for(sqlite::session& on, std::string_view queue, std::size_t max_queues) {
    if (on.query("SELECT 1 FROM queues WHERE name = ?", queue).empty() &&
        !has_room_for_queue(on, max_queues)) {
        throw too_many_queues("there are " + std::to_string(max_queues) +
                              " queues (max_queues), and '" + std::string(queue) +
                              "' would be one more");
    }
}

void pause_queue(sqlite::session& on, std::string_view queue, bool is_paused) {
    on.execute(
        "INSERT INTO queues(name, is_paused) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET "
        "is_paused = ?2",
        queue, is_paused);
}

void limit_queue(sqlite::session& on, std::string_view queue, const queue_limits& limits) {
    on.execute(
        "INSERT INTO queues(name, max_pending, max_running, rate, burst, key_max_running, "
        "key_rate, key_burst) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(name) DO UPDATE "
        "SET max_pending = ?2, max_running = ?3, rate = ?4, burst = ?5, key_max_running = ?6, "
        "key_rate = ?7, key_burst = ?8",
        queue, limits.max_pending, limits.max_running, limits.rate, limits.burst,
        limits.key_max_running, limits.key_rate, limits.key_burst);
    // Rates need no update here: claims evaluate them.
    on.execute(
        "UPDATE flows SET place = CASE WHEN due = 0 THEN 0 WHEN ?2 > 0 AND running >= ?2 THEN 2 "
        "ELSE 1 END WHERE queue = (SELECT id FROM queues WHERE name = ?1) AND place != 0",
        queue, limits.key_max_running);
}

}  // namespace weir::service::detail
