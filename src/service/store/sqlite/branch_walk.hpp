// SPDX-License-Identifier: MIT
// How a claim finds the due tasks of branches: branch_parking wakes the branches of destinations
// that have room, and branch_walk goes over the ready branches of one flow.
#pragma once

#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/ledger.hpp"
#include "service/store/sqlite/start.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace weir::service::detail {

// Counts the branches that one claim moves.
class branch_parking {
public:
    branch_parking(sql_session& session, ledger& books, timestamp now) noexcept
        : session_(session), books_(books), now_(now) {}

    // Asks for what the next wake() looks at first; without it, wake() does.
    void look(std::size_t wanted);
    // Wakes parked branches of destinations that have room, for each as many as its room, up to
    // `wanted` that can get a turn. Returns whether any branch was woken.
    bool wake(std::size_t wanted, std::int64_t turn);
    // A ready branch whose destination has no room: it is parked when the ledger is closed.
    void pass_over(branch_row& row) noexcept {
        row.is_changed = true;
        ++moved_;
        has_passed_over_ = true;
    }
    // Since the last call.
    bool has_passed_over() noexcept { return std::exchange(has_passed_over_, false); }
    bool is_exhausted() const noexcept { return moved_ >= move_limit; }

private:
    std::size_t wake_branches(const destination_row& to, std::size_t wanted);
    bool is_claimable(const branch_row& row);

    sql_session& session_;
    ledger& books_;
    timestamp now_;
    std::unique_ptr<sql_answer> freed_;
    std::unique_ptr<sql_answer> ready_;
    std::size_t moved_ = 0;
    bool has_passed_over_ = false;
};

// The due tasks of one flow in the order of priority and age, without those whose destination has
// no room. The tasks that are in no branch take part.
class branch_walk {
public:
    branch_walk(sql_session& session, ledger& books, branch_parking& parking, flow_row& flow,
                timestamp now) noexcept
        : session_(&session), books_(&books), parking_(&parking), flow_(&flow), now_(now) {}

    struct stop {
        std::pair<std::int64_t, std::int64_t> first;  // rank and id of its first task
        branch_row* branch = nullptr;                 // null: the tasks in no branch
        destination_row* destination = nullptr;
        bool is_over = false;
        std::int64_t line = 0;
    };
    // Where the next task is; null if no task can be taken now.
    stop* next();
    // The first task of the stop was taken.
    void taken(stop& from);
    // The first task of the stop is not in its line any more: see ledger::read_first().
    void correct(stop& wrong);

private:
    void load();
    void read_first(stop& of);

    sql_session* session_;
    ledger* books_;
    branch_parking* parking_;
    flow_row* flow_;
    timestamp now_;
    std::vector<stop> stops_;
    // All branches up to this one have been read.
    std::pair<std::int64_t, std::int64_t> read_up_to_{std::numeric_limits<std::int64_t>::min(), 0};
    std::size_t chunk_ = 8;
    bool has_begun_ = false;
    bool has_all_ = false;
};

}  // namespace weir::service::detail
