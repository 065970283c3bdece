// SPDX-License-Identifier: MIT
// submitter: inserts new tasks within one transaction; id_source: the ids that they get.
#pragma once

#include "service/store/sqlite/rows/event_list.hpp"
#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/db/sqlite/session.hpp>
#include <weir/service/store.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::service::detail {

// Ids larger than all ids before, of this process or another.
class id_source {
public:
    // previous: the id before in the same transaction; without one, the largest id is read from the
    // tables.
    task_id next(sqlite::session& session, timestamp now, task_id previous);

private:
    // Ids are not used again, even if the newest tasks are purged.
    std::atomic<std::int64_t> last_{0};
};

class submitter {
public:
    submitter(sqlite::session& session, ledger& books, id_source& ids, event_list& events,
              moment now, std::size_t max_queues)
        : session_(session),
          books_(books),
          ids_(ids),
          events_(events),
          now_(now),
          max_queues_(max_queues) {}
    submit_result add(const new_task& task);
    // Without a look at keys and max_pending. If max_queues forbids its queue, `instead` gets it.
    task_id add_follow_up(const new_task& task, queue_row& instead);

private:
    task_id insert(const new_task& task, queue_row& queue);
    std::optional<submit_result> find_duplicate(const new_task& task);

    sqlite::session& session_;
    ledger& books_;
    id_source& ids_;
    event_list& events_;
    moment now_;
    std::size_t max_queues_;
    task_id last_{};
};

}  // namespace weir::service::detail
