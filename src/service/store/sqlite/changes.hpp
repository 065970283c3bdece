// SPDX-License-Identifier: MIT
// task_changes: clients cancel tasks and run them again, within one transaction.
#pragma once

#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

#include <cstdint>
#include <span>

namespace weir::service::detail {

class task_changes {
public:
    task_changes(sqlite::session& session, timestamp now, event_list& events)
        : session_(session), now_(now), events_(events), books_(session, now) {}

    change_result cancel(task_id id);
    change_result retry(task_id id);
    // Makes ended tasks due, with all their attempts, as if they were new.
    void restart(std::span<const std::int64_t> ids);

private:
    struct task_position;

    void restart(std::int64_t id, const task_position& position);

    sqlite::session& session_;
    timestamp now_;
    event_list& events_;
    ledger books_;
};

}  // namespace weir::service::detail
