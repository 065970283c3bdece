// SPDX-License-Identifier: MIT
// Searches in the tables that answer clients.
#pragma once

#include "service/store/sql_session.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::service::detail {

std::vector<queue_record> list_queues(sql_session& session);

// The tasks that match, newest first, of those that it looks at.
// No task that the filter finds is younger.
timestamp newest_of(const task_filter& filter) noexcept;
task_page search_tasks(sql_session& session, const task_filter& filter, timestamp now);

// A place among the failed tasks, which are in the order in which they failed.
struct failed_place {
    std::int64_t rank = 0;
    std::int64_t id = 0;
};
struct failed_tasks {
    std::vector<std::int64_t> ids;
    std::optional<failed_place> searched_to;  // empty: that was all
};
// The failed tasks that match, after that place, up to the filter's limit, of those that it looks
// at.
failed_tasks search_failed(sql_session& session, const task_filter& filter, failed_place after,
                           timestamp now);
// Why the task does not run now; empty if it does not exist.
std::vector<hold> find_holds(sql_session& session, task_id id, moment now);
std::vector<endpoint_record> list_disabled_endpoints(sql_session& session);
// First those that hold tasks back.
std::vector<destination_record> list_destinations(sql_session& session, std::size_t limit,
                                                  timestamp now);

}  // namespace weir::service::detail
