// SPDX-License-Identifier: MIT
// How tasks and their attempts are read from and written to the tables.
#pragma once

#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/db/sqlite/session.hpp>
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
    "tasks.started_at, finished_at, kind, run_at, timeout_ms, max_attempts, backoff_ms, factor, "
    "max_backoff_ms, jitter, idempotency_key, tags, progress, message, held_by, error, "
    "coalesce(payload, (SELECT payload FROM payloads WHERE task = tasks.id)), result";
inline constexpr std::size_t task_column_count = 27;
// The last of these, whose values may be long.
inline constexpr std::string_view long_columns =
    "coalesce(payload, (SELECT payload FROM payloads WHERE task = tasks.id)), result";
static_assert(task_columns.ends_with(long_columns));
// To be appended for read_named_task(): the names of queue, flow key and node.
inline constexpr std::string_view task_names =
    ", (SELECT name FROM queues WHERE queues.id = tasks.queue), "
    "(SELECT key FROM flows WHERE flows.id = flow), "
    "(SELECT nodes.id FROM nodes WHERE number = node)";
task_record read_task(const sqlite::row& row);
task_record read_named_task(const sqlite::row& row);

std::string write_tags(const std::vector<std::string>& tags);  // empty without tags
std::vector<std::string> read_tags(std::string_view json);

// Adds the end of a run to the task's history, which keeps the latest attempts.
void add_attempt(sqlite::session& session, std::int64_t task, const attempt_record& attempt);
std::vector<attempt_record> read_attempts(sqlite::session& session, std::int64_t task);

// Optional columns are null where the text is empty.
inline std::optional<std::string_view> null_if_empty(std::string_view text) {
    return text.empty() ? std::optional<std::string_view>() : std::optional(text);
}

// The line of a task in the index `tasks_line`: see file/schema.cpp.
inline std::int64_t due_line(std::int64_t flow) noexcept {
    return 8 * flow;
}
inline std::int64_t later_line(std::int64_t queue) noexcept {
    return 8 * queue + 1;
}
inline std::int64_t running_line(std::int64_t node) noexcept {
    return 8 * node + 2;
}
inline std::int64_t ended_line(task_state state) noexcept {
    return 8 * static_cast<std::int64_t>(state) + 3;
}
struct line_position {
    std::int64_t line = 0;
    std::int64_t rank = 0;
};
inline line_position pending_position(std::int64_t queue, std::int64_t flow, std::int64_t priority,
                                      timestamp due_at, timestamp now) noexcept {
    return due_at <= now ? line_position{due_line(flow), -priority}
                         : line_position{later_line(queue), number_of(due_at)};
}

}  // namespace weir::service::detail
