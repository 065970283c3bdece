// SPDX-License-Identifier: MIT
// task_starter: what claims of nodes and claims for workers have in common. It moves tasks whose
// time has come into the lines of due tasks, and marks tasks as running.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/expiry.hpp"
#include "service/store/sqlite/rows/ledger.hpp"

#include <weir/service/store.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::service::detail {

// At most so many tasks, flows or branches move in one claim; the next claim continues.
inline constexpr std::size_t move_limit = 1000;

class task_starter {
public:
    task_starter(sql_session& session, ledger& books, moment now) noexcept
        : session_(session), books_(books), now_(now) {}

    // Returns whether tasks have moved: then the ledger is to be closed before tables are searched.
    bool move_due(queue_row& queue);
    // Some tasks whose time has come were left.
    bool has_more_to_move() const noexcept { return has_more_; }
    // When the queue's next task becomes due, on the steady clock.
    std::optional<timestamp> next_due(queue_row& queue);

    struct runner {
        std::string_view node;
        std::int64_t number = 0;
        std::int64_t poll = 0;  // of a worker
    };
    // The row has the task_columns of a due task. Returns the task as it runs; without an id if it
    // must not run, since its group is being cancelled or it has expired.
    task_record start(const sqlite::row& row, const task_place& place, const runner& by);
    // Those that have expired. They wait to be ended.
    const std::vector<expired_task>& expired() const noexcept { return expired_; }

private:
    bool move_due(queue_row& queue, std::int64_t line, timestamp now);
    std::optional<std::int64_t> first_rank(std::int64_t line);
    bool is_cancelled(group_id group);
    void park(std::int64_t task, const task_place& place);

    sql_session& session_;
    ledger& books_;
    moment now_;
    bool has_more_ = false;
    std::map<group_id, bool> cancelled_groups_;
    std::vector<expired_task> expired_;
};

}  // namespace weir::service::detail
