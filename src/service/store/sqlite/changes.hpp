// SPDX-License-Identifier: MIT
// task_changes: clients cancel, retry, remove and edit tasks, within one transaction.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/task_ends.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weir::service::detail {

class task_changes {
public:
    task_changes(sql_session& session, moment now, event_list& events, id_source& ids,
                 std::size_t max_queues)
        : session_(session),
          now_(now),
          events_(events),
          books_(session, now),
          ends_(session, books_, ids, events, now, max_queues) {}

    change_result cancel(task_id id);
    change_result retry(task_id id);
    std::vector<change_result> change_all(const bulk_change& change);
    change_result edit(task_id id, const task_edit& edit);
    // Makes those of these tasks that have failed due, with all their attempts, as if they were
    // new. Returns their number.
    std::size_t restart_failed(std::span<const std::int64_t> ids);

private:
    struct task_position;

    // Changes of a task at its position, without the counts in the tables.
    change_result cancel(std::int64_t id, const task_position& position);
    change_result retry(std::int64_t id, const task_position& position);
    // key_taken: another task holds its unique key; no_change: a task before it, or its group, does
    // not let it run.
    change_result restart(std::int64_t id, const task_position& position);
    // Where the task is counted with this destination.
    task_place with_destination(std::int64_t id, const task_place& place, std::string_view name);
    // Writes what the changes cause, and the counts.
    void close();

    sql_session& session_;
    moment now_;
    event_list& events_;
    ledger books_;
    task_ends ends_;
};

}  // namespace weir::service::detail
