// SPDX-License-Identifier: MIT
// Neither reads branches that wait for a destination without room: those are parked, in no index
// that a claim walks. A branch that is still ready although its destination is full is found once,
// and parked. A destination with room wakes as many of its branches as it has room for, those whose
// last turn is longest ago first; branches that cannot get a turn for another reason (their flow
// key is full, their queue is paused) do not count, and stay ready until that reason is gone. So
// each move of a branch belongs to a task that started, or to a limit that changed.

#include "service/store/sqlite/branch_walk.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <string>

namespace weir::service::detail {

// ---- parking

void branch_parking::look(std::size_t wanted) {
    static const std::string freed_sql =
        std::string(destination_query) + "place = 3 AND free_at <= ? ORDER BY free_at LIMIT ?";
    static const std::string ready_sql =
        std::string(destination_query) + "place = 1 ORDER BY turn, destinations.id LIMIT ?";
    // More than could be used: turns of flows decide which flow is next, not those of destinations.
    constexpr std::size_t min_woken = 32;
    const std::size_t limit = std::clamp(wanted, min_woken, move_limit);
    freed_ = session_.ask(freed_sql, number_of(now_), limit);
    ready_ = session_.ask(ready_sql, limit);
}

bool branch_parking::wake(std::size_t wanted, std::int64_t turn) {
    if (freed_ == nullptr) {
        look(wanted);
    }
    std::vector<destination_row*> ready;
    const auto add_all = [&](const sqlite::rows& found) {
        for (const sqlite::row each : found) {
            ready.push_back(&books_.add(read_destination(each)));
        }
    };
    add_all(std::exchange(freed_, nullptr)->take());
    add_all(std::exchange(ready_, nullptr)->take());
    bool has_woken = false;
    for (destination_row* const each : ready) {
        const std::uint64_t room = each->gate().room(now_);
        const std::size_t woken =
            wake_branches(*each, static_cast<std::size_t>(std::min<std::uint64_t>(room, wanted)));
        has_woken = has_woken || woken > 0;
        each->turn = turn;
        each->is_changed = true;  // its place was right when it was written
    }
    if (!ready.empty()) {
        books_.close();
    }
    return has_woken;
}

std::size_t branch_parking::wake_branches(const destination_row& to, std::size_t wanted) {
    static const std::string sql =
        "SELECT " + std::string(branch_columns) +
        " FROM branches WHERE place = 2 AND destination = ? AND (turn, id) > (?, ?) ORDER BY turn, "
        "id LIMIT ?";
    std::size_t woken = 0;
    std::pair<std::int64_t, std::int64_t> last{std::numeric_limits<std::int64_t>::min(), 0};
    while (wanted > 0 && !is_exhausted()) {
        const sqlite::rows found = session_.query(sql, to.id, last.first, last.second, wanted);
        if (found.empty()) {
            break;
        }
        for (const sqlite::row each : found) {
            branch_row& row = books_.add(read_branch(each));
            last = {row.turn, row.id};
            row.is_woken = true;
            row.is_changed = true;
            ++moved_;
            ++woken;
            wanted -= is_claimable(row) ? 1 : 0;
        }
    }
    return woken;
}

bool branch_parking::is_claimable(const branch_row& row) {
    const flow_row& flow = books_.flow(row.flow);
    const queue_row& queue = books_.queue(flow.queue);
    return !queue.is_paused && !queue.is_full() && queue.bucket().available(now_) > 0 &&
           !flow.own.is_paused && !flow.is_full(queue.limits) &&
           flow.bucket(queue.limits).available(now_) > 0;
}

// ---- one flow

branch_walk::stop* branch_walk::next() {
    for (;;) {
        stop* first = nullptr;
        for (stop& each : stops_) {
            if (each.is_over) {
                continue;
            }
            if (each.branch != nullptr && each.destination->gate().room(now_) == 0) {
                each.is_over = true;
                parking_->pass_over(*each.branch);
            } else if (first == nullptr || each.first < first->first) {
                first = &each;
            }
        }
        if (has_all_ || (first != nullptr && first->first <= read_up_to_)) {
            return first;
        }
        load();
    }
}

void branch_walk::load() {
    static const std::string sql =
        "SELECT " + std::string(branch_columns) +
        " FROM branches WHERE place = 1 AND flow = ? AND (rank, head) > (?, ?) ORDER BY rank, head "
        "LIMIT ?";
    if (!has_begun_) {
        has_begun_ = true;
        if (flow_->due > 0) {
            stop& own = stops_.emplace_back();
            own.line = due_line(flow_->id);
            read_first(own);
        }
    }
    if (parking_->is_exhausted()) {
        has_all_ = true;
        return;
    }
    const sqlite::rows found =
        session_->query(sql, flow_->id, read_up_to_.first, read_up_to_.second, chunk_);
    for (const sqlite::row each : found) {
        stop& added = stops_.emplace_back();
        added.branch = &books_->add(read_branch(each));
        added.destination = &books_->destination(added.branch->destination);
        added.line = branch_line(added.branch->id);
        added.first = {added.branch->rank, added.branch->head};
        read_up_to_ = added.first;
    }
    has_all_ = found.size() < chunk_;
    chunk_ = std::min<std::size_t>(2 * chunk_, 256);
}

void branch_walk::taken(stop& from) {
    if (from.branch != nullptr) {
        from.destination->gate().started(now_, 1);
    }
    read_first(from);
}

void branch_walk::correct(stop& wrong) {
    if (wrong.branch != nullptr) {
        wrong.branch->is_changed = true;
    }
    read_first(wrong);
}

void branch_walk::read_first(stop& of) {
    const sqlite::rows found = session_->query(
        "SELECT rank, id FROM tasks WHERE line = ? ORDER BY rank, id LIMIT 1", of.line);
    of.is_over = found.empty();
    if (!of.is_over) {
        of.first = {found[0].get<std::int64_t>(0), found[0].get<std::int64_t>(1)};
    }
}

}  // namespace weir::service::detail
