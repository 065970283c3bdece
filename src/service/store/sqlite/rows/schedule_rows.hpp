// SPDX-License-Identifier: MIT
// How schedules are read from and written to the tables.
#pragma once

#include <weir/db/sqlite/session.hpp>
#include <weir/service/schedule.hpp>

#include <string>
#include <string_view>

namespace weir::service::detail {

// The columns that read_schedule() expects.
inline constexpr std::string_view schedule_columns =
    "name, cron, zone, missed, is_paused, task, next_slot, last_slot, last_task, overlap, "
    "(SELECT state FROM tasks WHERE id = last_task)";
schedule_record read_schedule(const sqlite::row& row);
// The task of a schedule as JSON, as the column `task` keeps it.
std::string write_template(const new_task& task);
new_task read_template(std::string_view json);

}  // namespace weir::service::detail
