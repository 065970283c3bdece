// SPDX-License-Identifier: MIT
// Few tasks have callbacks, so the task is read once more instead of passing it on from each
// operation.

#include "service/store/sqlite/task_ends.hpp"

#include "service/store/follow_ups.hpp"
#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <string>

namespace weir::service::detail {

void task_ends::add(std::int64_t task) {
    static const std::string sql = "SELECT " + std::string(task_columns) + std::string(task_names) +
                                   ", queue FROM tasks WHERE id = ?";
    const sqlite::rows found = session_.query(sql, task);
    const task_record ended = read_named_task(found[0]);
    queue_row& own_queue =
        books_.queue(found[0].get<std::int64_t>(task_column_count + task_name_count));
    for (const new_task& each : follow_ups_of(ended)) {
        const task_id created = tasks_.add_follow_up(each, own_queue);
        session_.execute("INSERT INTO follow_ups(task, created) VALUES (?, ?)", task,
                         created.number());
    }
}

std::vector<task_id> read_follow_ups(sqlite::session& session, std::int64_t task) {
    const sqlite::rows found = session.query(
        "SELECT created FROM follow_ups WHERE task = ? ORDER BY created DESC LIMIT 20", task);
    std::vector<task_id> created;
    for (const sqlite::row each : found) {
        created.emplace_back(each.get<std::int64_t>(0));
    }
    std::reverse(created.begin(), created.end());
    return created;
}

}  // namespace weir::service::detail
