// SPDX-License-Identifier: MIT
// How tasks and their attempts are read from and written to the tables.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/service/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The columns of `tasks` that read_task() expects.
inline constexpr std::string_view task_columns =
    "tasks.id, tasks.state, is_cancelling, priority, run, failures, crashes, created_at, due_at, "
    "tasks.started_at, finished_at, kind, run_at, tasks.expires_at, timeout_ms, max_attempts, "
    "backoff_ms, factor, max_backoff_ms, jitter, idempotency_key, unique_key, unique_for, tags, "
    "secret, progress, "
    "message, "
    "held_by, error, callbacks, traceparent, tracestate, steps, waits, in_group, "
    "coalesce(payload, (SELECT payload FROM payloads WHERE task = tasks.id)), result";
inline constexpr std::size_t task_column_count = 37;
// The last of these, whose values may be long.
inline constexpr std::string_view long_columns =
    "coalesce(payload, (SELECT payload FROM payloads WHERE task = tasks.id)), result";
static_assert(task_columns.ends_with(long_columns));
// To be appended for read_named_task(): the names of queue, flow key, node and destination.
inline constexpr std::string_view task_names =
    ", (SELECT name FROM queues WHERE queues.id = tasks.queue), "
    "(SELECT key FROM flows WHERE flows.id = flow), "
    "(SELECT nodes.id FROM nodes WHERE number = node), "
    "(SELECT destinations.name FROM branches JOIN destinations ON destinations.id = "
    "branches.destination WHERE branches.id = tasks.branch)";
inline constexpr std::size_t task_name_count = 4;
task_record read_task(const sqlite::row& row);
task_record read_named_task(const sqlite::row& row);

// The task that holds this key; 0: none.
std::int64_t holder_of(sql_session& session, std::string_view unique_key);
void hold_key(sql_session& session, std::string_view unique_key, std::int64_t task);

std::string write_tags(const std::vector<std::string>& tags);  // empty without tags
std::vector<std::string> read_tags(std::string_view json);

// Replaces the payload of a task.
void write_payload(sql_session& session, std::int64_t task, std::string_view payload);

// Adds the end of a run to the task's history, which keeps the latest attempts.
void add_attempt(sql_session& session, std::int64_t task, const attempt_record& attempt);
std::vector<attempt_record> read_attempts(sql_session& session, std::int64_t task);

// Longer payloads are in a table of their own: each change of a task writes its whole row again.
inline constexpr std::size_t max_inline_payload = 2000;

// Optional columns are null where the text is empty.
inline std::optional<std::string_view> null_if_empty(std::string_view text) {
    return text.empty() ? std::optional<std::string_view>() : std::optional(text);
}

// The line of a task in the index `tasks_line`: see file/schema.cpp.
inline std::int64_t due_line(std::int64_t flow) noexcept {
    return 8 * flow;
}
inline std::int64_t branch_line(std::int64_t branch) noexcept {
    return 8 * branch + 4;
}
inline std::int64_t later_line(std::int64_t queue) noexcept {
    return 8 * queue + 1;
}
inline std::int64_t backoff_line(std::int64_t queue) noexcept {
    return 8 * queue + 5;
}
inline std::int64_t waiting_line(std::int64_t queue) noexcept {
    return 8 * queue + 7;
}
inline std::int64_t running_line(std::int64_t node) noexcept {
    return 8 * node + 2;
}
inline constexpr std::int64_t ended_line(task_state state) noexcept {
    return 8 * static_cast<std::int64_t>(state) + 3;
}
// Whether a pending task in this line is due.
inline bool is_due_line(std::int64_t line) noexcept {
    return line % 4 == 0;
}
struct line_position {
    std::int64_t line = 0;
    std::int64_t rank = 0;
};
// The line of due tasks.
inline std::int64_t due_line(const task_place& place) noexcept {
    return place.branch != nullptr ? branch_line(place.branch->id) : due_line(place.flow.id);
}
// Of a task that waits for a time of the calendar.
inline line_position later_position(const task_place& place, std::int64_t priority,
                                    timestamp run_at, moment now) noexcept {
    return run_at <= now.at ? line_position{due_line(place), -priority}
                            : line_position{later_line(place.queue.id), number_of(run_at)};
}
// Of a task that waits for other tasks, in the order of their ids.
inline line_position waiting_position(const task_place& place, std::int64_t task) noexcept {
    return {waiting_line(place.queue.id), task};
}
// Of a task that waits for a delay to pass; due_at is on the steady clock.
inline line_position backoff_position(const task_place& place, std::int64_t priority,
                                      timestamp due_at, moment now) noexcept {
    return due_at <= now.steady ? line_position{due_line(place), -priority}
                                : line_position{backoff_line(place.queue.id), number_of(due_at)};
}

}  // namespace weir::service::detail
