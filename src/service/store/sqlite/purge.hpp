// SPDX-License-Identifier: MIT
// Removes tasks: those whose retention has passed, and single ones.
#pragma once

#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/db/sqlite/session.hpp>
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
        "unique_key, branch, callbacks IS NOT NULL, steps IS NOT NULL";

    task_remover(sqlite::session& session, moment now) : session_(session), books_(session, now) {}
    void remove(const sqlite::row& task);
    // A task that has ended: done, not_found or no_change.
    change_result remove_ended(std::int64_t id);
    // Writes the counts; the last call.
    void close() { books_.close(); }

private:
    sqlite::session& session_;
    ledger books_;
};

// One batch, of a bounded size. Returns the number of tasks removed.
std::size_t purge_batch(sqlite::session& session, const retention& kept, moment now);

}  // namespace weir::service::detail
