// SPDX-License-Identifier: MIT
// Removes tasks: those whose retention has passed, and single ones.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/task_ends.hpp"

#include <weir/service/store.hpp>

#include <cstddef>
#include <string_view>

namespace weir::service::detail {

// Removes tasks, of any state, and all that belongs to them.
class task_remover {
public:
    // The columns that remove() expects.
    static constexpr std::string_view columns =
        "id, queue, flow, state, line, tags IS NOT NULL, payload IS NULL, run, "
        "unique_key, branch, steps IS NOT NULL, waits IS NOT NULL, callbacks IS NOT NULL, "
        "has_children IS NOT NULL, iif(is_detached IS NULL, in_group, NULL), in_group, "
        "expires_at IS NOT NULL";

    // The caller closes both.
    task_remover(sql_session& session, ledger& books, task_ends& ends) noexcept
        : session_(session), books_(books), ends_(ends) {}
    void remove(const sqlite::row& task);
    // A task that has ended: done, not_found or no_change.
    change_result remove_ended(std::int64_t id);

private:
    sql_session& session_;
    ledger& books_;
    task_ends& ends_;
};

// One batch, of a bounded size. Returns the number of tasks removed, or kept for their group.
std::size_t purge_batch(sql_session& session, const retention& kept, moment now, event_list& events,
                        id_source& ids, std::size_t max_queues);

}  // namespace weir::service::detail
