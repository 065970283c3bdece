// SPDX-License-Identifier: MIT
// How groups and dependencies are read from and written to the tables.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/workflow.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// The columns of `task_groups` that read_group() expects.
inline constexpr std::string_view group_columns =
    "id, name, queue, state, is_sealed, on_failure, runs_on_cancel, total, open, failed, "
    "cancelled, callback, callback_task, created_at, finished_at";

struct group_row : group_record {
    std::optional<new_task> callback;
};
group_row read_group(const sqlite::row& row);
std::optional<group_row> find_group(sql_session& session, group_id id);
// The group with this idempotency key; empty: none.
group_id find_group(sql_session& session, std::string_view key);
group_id insert_group(sql_session& session, const new_group& group, std::string_view queue,
                      timestamp now);

// The dependencies of a task. Nothing is read if it has none.
void read_parents(sql_session& session, task_record& of);
// The first of the tasks that depend on it.
std::vector<task_id> read_children(sql_session& session, std::int64_t task);

}  // namespace weir::service::detail
