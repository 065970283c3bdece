// SPDX-License-Identifier: MIT
// First, tasks that have become due move to the due lines, and flows whose rate allows a task again
// become ready. Then the operation gives turns without reading tasks: queues in the order of their
// last turn, each to its flow that has waited longest, one at a time, as far as the limits allow.
// Only then it fetches the tasks, for each flow as many as it has turns, by priority and age. The
// cost does not depend on how many tasks wait.

#include "service/store/sqlite/claim.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace weir::service::detail {

namespace {

// At most so many tasks or flows move in one claim; the next claim continues.
constexpr std::size_t move_limit = 1000;

std::uint64_t unused(std::uint32_t limit, std::uint64_t running) noexcept {
    return limit - std::min<std::uint64_t>(limit, running);
}

}  // namespace

claimed claim_operation::run() {
    read_queues();
    for (queue_row* const each : queues_) {
        if (each->queue_record::count(task_state::pending) > each->due) {
            move_due(*each);
        }
    }
    find_candidates();
    give_turns();
    result_.tasks.resize(given_);
    for (queue_turns& queue : candidates_) {
        for (flow_turns& flow : queue.flows) {
            if (!flow.turns.empty()) {
                fetch(queue, flow);
            }
        }
    }
    books_.close();
    result_.next_at = next_at();
    for (const task_record& each : result_.tasks) {
        events_.add(each);
    }
    return std::move(result_);
}

void claim_operation::read_queues() {
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE pending > 0 ORDER BY turn, id";
    const sqlite::rows found = session_.query(sql);
    for (const sqlite::row each : found) {
        queues_.push_back(&books_.add(read_queue(each)));
    }
    last_turn_ = session_.query("SELECT max(turn) FROM queues")
                     .one<std::optional<std::int64_t>>()
                     .value_or(0);
}

void claim_operation::move_due(queue_row& queue) {
    const sqlite::rows due = session_.query(
        "SELECT id, flow, priority FROM tasks WHERE line = ? AND rank <= ? ORDER BY rank LIMIT ?",
        later_line(queue.id), number_of(request_.now), move_limit);
    for (const sqlite::row each : due) {
        session_.execute("UPDATE tasks SET line = ?, rank = ? WHERE id = ?",
                         due_line(each.get<std::int64_t>(1)), -each.get<std::int64_t>(2),
                         each.get<std::int64_t>(0));
        books_.moves(queue, books_.flow(each.get<std::int64_t>(1)), {task_state::pending, false},
                     {task_state::pending, true});
    }
    has_more_to_move_ = has_more_to_move_ || due.size() == move_limit;
    if (!due.empty()) {
        books_.close();  // find_flows() searches the tables
    }
}

void claim_operation::find_candidates() {
    std::size_t with_turns = 0;  // each gets at least one turn, so `limit` of them are enough
    for (queue_row* const each : queues_) {
        if (with_turns >= request_.limit) {
            break;
        }
        const std::uint64_t room =
            each->limits.max_running == 0
                ? std::numeric_limits<std::uint64_t>::max()
                : unused(each->limits.max_running, each->count(task_state::running));
        queue_turns queue;
        queue.row = each;
        queue.room = std::min(room, each->bucket().available(request_.now));
        if (!each->is_paused && each->due > 0 && queue.room > 0) {
            find_flows(queue);
            with_turns += queue.flows.empty() ? 0 : 1;
            candidates_.push_back(std::move(queue));
        }
    }
}

// As many flows as could get a turn, first those whose last turn is longest ago.
void claim_operation::find_flows(queue_turns& queue) {
    static const std::string sql =
        "SELECT " + std::string(flow_columns) +
        " FROM flows WHERE place = 1 AND queue = ? ORDER BY turn, id LIMIT ?";
    const queue_limits& limits = queue.row->limits;
    if (limits.key_rate > 0) {
        free_slowed(*queue.row);
    }
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(request_.limit, queue.room));
    for (;;) {
        const sqlite::rows found = session_.query(sql, queue.row->id, wanted);
        bool has_outdated = false;
        for (const sqlite::row each : found) {
            flow_row& flow = books_.add(read_flow(each));
            std::uint64_t room = static_cast<std::uint64_t>(flow.due);
            if (limits.key_max_running > 0) {
                room = std::min(
                    room, unused(limits.key_max_running, static_cast<std::uint64_t>(flow.running)));
            }
            room = std::min(room, flow.bucket(limits).available(request_.now));
            if (room == 0) {
                // The limits have changed since the flow was written as ready.
                flow.is_changed = true;
                has_outdated = true;
            } else {
                queue.flows.push_back({&flow, room, {}});
            }
        }
        if (!has_outdated) {
            return;
        }
        books_.close();
        queue.flows.clear();
    }
}

void claim_operation::free_slowed(const queue_row& queue) {
    const sqlite::changed freed = session_.execute(
        "UPDATE flows SET place = 1 WHERE id IN (SELECT id FROM flows WHERE place = 3 AND queue = "
        "? AND free_at <= ? ORDER BY free_at LIMIT ?)",
        queue.id, number_of(request_.now), move_limit);
    has_more_to_move_ = has_more_to_move_ || freed.rows == static_cast<std::int64_t>(move_limit);
}

void claim_operation::give_turns() {
    bool has_given = true;
    while (has_given && given_ < request_.limit) {
        has_given = false;
        for (queue_turns& each : candidates_) {
            has_given = (given_ < request_.limit && give_turn(each)) || has_given;
        }
    }
}

bool claim_operation::give_turn(queue_turns& queue) {
    if (queue.room == 0) {
        return false;
    }
    for (std::size_t seen = 0; seen < queue.flows.size(); ++seen) {
        flow_turns& next = queue.flows[queue.next_flow];
        queue.next_flow = (queue.next_flow + 1) % queue.flows.size();
        if (next.room > 0) {
            --next.room;
            --queue.room;
            next.turns.push_back(given_++);
            queue.row->turn = ++last_turn_;
            next.row->turn = last_turn_;
            next.row->has_moved = true;
            return true;
        }
    }
    queue.room = 0;
    return false;
}

void claim_operation::fetch(queue_turns& queue, flow_turns& flow) {
    static const std::string sql = "SELECT " + std::string(task_columns) +
                                   " FROM tasks WHERE line = ? ORDER BY rank, id LIMIT ?";
    const sqlite::rows found = session_.query(sql, due_line(flow.row->id), flow.turns.size());
    const std::int64_t now = number_of(request_.now);
    std::size_t turn = 0;
    for (const sqlite::row each : found) {
        task_record& task = result_.tasks[flow.turns[turn++]];
        task = read_task(each);
        task.state = task_state::running;
        ++task.run;
        task.queue = queue.row->name;
        task.flow_key = flow.row->key;
        task.node = request_.node;
        task.started_at = request_.now;
        task.progress = 0;
        task.message.clear();
        task.held_by.clear();
        session_.execute(
            "UPDATE tasks SET state = 1, line = ?, rank = 0, run = ?, node = ?, started_at = ?, "
            "progress = NULL, "
            "message = NULL, held_by = NULL WHERE id = ?",
            running_line(node_), task.run, node_, now, task.id.number());
        books_.moves(*queue.row, *flow.row, {task_state::pending, true},
                     {task_state::running, false});
    }
    rate_bucket queue_bucket = queue.row->bucket();
    queue_bucket.take(request_.now, turn);
    queue.row->full_at = queue_bucket.full_at();
    rate_bucket key_bucket = flow.row->bucket(queue.row->limits);
    key_bucket.take(request_.now, turn);
    flow.row->full_at = key_bucket.full_at();
}

std::optional<timestamp> claim_operation::next_at() {
    if (given_ == request_.limit || has_more_to_move_) {
        return request_.now;
    }
    std::optional<timestamp> earliest;
    for (queue_row* const each : queues_) {
        const std::optional<timestamp> next = next_at(*each);
        if (next.has_value() && (!earliest.has_value() || *next < *earliest)) {
            earliest = next;
        }
    }
    return earliest;
}

// The earliest time at which the queue's rate allows a task and the queue has one: a task becomes
// due, or the rate of a flow key allows its next task.
std::optional<timestamp> claim_operation::next_at(queue_row& queue) {
    if (queue.is_paused || queue.is_full()) {
        return std::nullopt;
    }
    std::optional<std::int64_t> first;
    const auto take_earlier = [&](std::optional<std::int64_t> other) {
        if (other.has_value() && (!first.has_value() || *other < *first)) {
            first = other;
        }
    };
    if (queue.count(task_state::pending) > queue.due) {
        take_earlier(
            session_.query("SELECT min(rank) FROM tasks WHERE line = ?", later_line(queue.id))
                .one<std::optional<std::int64_t>>());
    }
    if (queue.due > 0) {
        if (queue.limits.key_rate > 0) {
            take_earlier(
                session_
                    .query("SELECT min(free_at) FROM flows WHERE place = 3 AND queue = ?", queue.id)
                    .one<std::optional<std::int64_t>>());
        }
        if (queue.bucket().is_limited() &&
            !session_.query("SELECT 1 FROM flows WHERE place = 1 AND queue = ? LIMIT 1", queue.id)
                 .empty()) {
            first = number_of(request_.now);
        }
    }
    if (!first.has_value()) {
        return std::nullopt;
    }
    return std::max(time_of(*first), queue.bucket().next(request_.now));
}

}  // namespace weir::service::detail
