// SPDX-License-Identifier: MIT
// task_ends: creates what the ends of tasks create, within the transaction that ends them. Every
// operation that ends a task calls it.
#pragma once

#include "service/store/sqlite/submit.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::service::detail {

class task_ends {
public:
    // `books` are those of the operation, which closes them.
    task_ends(sqlite::session& session, ledger& books, id_source& ids, event_list& events,
              moment now, std::size_t max_queues)
        : session_(session), books_(books), tasks_(session, books, ids, events, now, max_queues) {}

    // A task that has callbacks, and whose row says that it has ended and how.
    void add(std::int64_t task);

private:
    sqlite::session& session_;
    ledger& books_;
    submitter tasks_;
};

// The latest 20, the oldest first.
std::vector<task_id> read_follow_ups(sqlite::session& session, std::int64_t task);

}  // namespace weir::service::detail
