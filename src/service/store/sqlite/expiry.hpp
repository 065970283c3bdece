// SPDX-License-Identifier: MIT
// Tasks that can expire, and the end of those that have, within one transaction.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/submit.hpp"

#include <weir/service/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::service::detail {

struct expired_task {
    std::int64_t id = 0;
    timestamp expires_at{};
};

// Whether the time of some task has come.
bool has_expiries(sql_session& session, timestamp now);

struct expiry_batch {
    std::vector<expired_task> expired;
    bool is_last = true;
};
// Takes the times that have come, up to `limit`; the tasks among them that have expired are to be
// ended.
expiry_batch take_expiries(sql_session& session, timestamp now, std::size_t limit);

// Another time for a pending task.
void change_expiry(sql_session& session, std::int64_t task, std::optional<timestamp> expires_at);

// Cancels these pending tasks.
void end_expired(sql_session& session, const std::vector<expired_task>& tasks, moment now,
                 event_list& events, id_source& ids, std::size_t max_queues);

}  // namespace weir::service::detail
