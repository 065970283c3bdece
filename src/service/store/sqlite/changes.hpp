// SPDX-License-Identifier: MIT
// task_changes: clients cancel tasks and run them again, within one transaction.
#pragma once

#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/task_ends.hpp"

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::service::detail {

class task_changes {
public:
    task_changes(sqlite::session& session, moment now, event_list& events, id_source& ids,
                 std::size_t max_queues)
        : session_(session),
          now_(now),
          events_(events),
          books_(session, now),
          ends_(session, books_, ids, events, now, max_queues) {}

    change_result cancel(task_id id);
    change_result retry(task_id id);
    // Makes those of these tasks that have failed due, with all their attempts, as if they were
    // new. Returns their number.
    std::size_t restart_failed(std::span<const std::int64_t> ids);

private:
    struct task_position;

    // False: another task holds its unique key.
    bool restart(std::int64_t id, const task_position& position);

    sqlite::session& session_;
    moment now_;
    event_list& events_;
    ledger books_;
    task_ends ends_;
};

}  // namespace weir::service::detail
