// SPDX-License-Identifier: MIT
// Searches in the tables that answer clients.
#pragma once

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

#include <cstdint>
#include <vector>

namespace weir::service::detail {

// The tasks that match, newest first.
std::vector<task_record> search_tasks(sqlite::session& session, const task_filter& filter,
                                      timestamp now);
// The failed tasks that match, in the order in which they failed.
std::vector<std::int64_t> search_failed(sqlite::session& session, const task_filter& filter,
                                        timestamp now);
// Why the task does not run now; empty if it does not exist.
std::vector<hold> find_holds(sqlite::session& session, task_id id, timestamp now);

}  // namespace weir::service::detail
