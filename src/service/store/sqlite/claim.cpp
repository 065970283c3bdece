// SPDX-License-Identifier: MIT
// First, tasks that have become due move to the due lines, and flows and destinations whose rate
// allows a task again become ready. Then the operation gives turns without reading tasks: queues in
// the order of their last turn, each to its flow that has waited longest, one at a time, as far as
// the limits allow. Only then it fetches the tasks, for each flow as many as it has turns, by
// priority and age. A flow with branches takes the task at each turn, since the room of a
// destination depends on the turns before. The cost does not depend on how many tasks wait.
//
// A destination may be shared by flows and queues, so that a flow that was found ready gets no
// turn. Then another round looks at the flows that the first one had no reason to read.

#include "service/store/sqlite/claim.hpp"

#include "service/store/sqlite/rows/task_rows.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace weir::service::detail {

namespace {

std::uint64_t unused(std::uint32_t limit, std::uint64_t running) noexcept {
    return limit - std::min<std::uint64_t>(limit, running);
}

}  // namespace

void claim_operation::look() {
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE pending > 0 ORDER BY turn, id";
    session_.execute(
        "UPDATE flows SET place = 1 WHERE id IN (SELECT id FROM flows WHERE place = 0 AND "
        "ready_branches > 0 LIMIT ?)",
        move_limit);
    queues_asked_ = session_.ask(sql);
    turn_asked_ = session_.ask("SELECT max(turn) FROM queues");
    parking_.look(request_.limit);
}

claimed claim_operation::run(std::int64_t node) {
    node_ = node;
    if (queues_asked_ == nullptr) {
        look();
    }
    read_queues();
    for (queue_row* const each : queues_) {
        if (starter_.move_due(*each)) {
            books_.close();  // find_flows() searches the tables
            parking_.look(request_.limit);
        }
    }
    bool has_progress = true;
    while (has_progress && given_ < request_.limit && !parking_.is_exhausted()) {
        has_progress = parking_.wake(request_.limit - given_, last_turn_ + 1);
        find_candidates();
        give_turns();
        result_.tasks.resize(given_);
        fetch();
        books_.close();
        has_progress = parking_.has_passed_over() || has_progress;
    }
    has_more_to_move_ = has_more_to_move_ || starter_.has_more_to_move() || parking_.is_exhausted();
    result_.next_at = next_at();
    std::erase_if(result_.tasks, [](const task_record& each) { return !each.id; });
    for (const task_record& each : result_.tasks) {
        events_.add(each);
    }
    return std::move(result_);
}

void claim_operation::read_queues() {
    const sqlite::rows found = queues_asked_->take();
    for (const sqlite::row each : found) {
        queues_.push_back(&books_.add(read_queue(each)));
    }
    last_turn_ = turn_asked_->take().one<std::optional<std::int64_t>>().value_or(0);
}

void claim_operation::find_candidates() {
    candidates_.clear();
    std::ranges::sort(queues_, [](const queue_row* one, const queue_row* other) {
        return std::pair(one->turn, one->id) < std::pair(other->turn, other->id);
    });
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
        queue.room = std::min(room, each->bucket().available(request_.now.steady));
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
    if (limits.key_rate > 0 || queue.row->keys_set > 0) {
        free_slowed(*queue.row);
    }
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(request_.limit, queue.room));
    for (;;) {
        const sqlite::rows found = session_.query(sql, queue.row->id, wanted);
        bool has_outdated = false;
        for (const sqlite::row each : found) {
            flow_row& flow = books_.add(read_flow(each));
            if (!add_flow(queue, flow)) {
                // Limits have changed since the flow was written as ready, or destinations.
                flow.is_changed = true;
                has_outdated = !parking_.is_exhausted();
            }
        }
        if (!has_outdated) {
            return;
        }
        books_.close();
        queue.flows.clear();
    }
}

// False if it cannot have a turn.
bool claim_operation::add_flow(queue_turns& queue, flow_row& flow) {
    flow_turns added;
    added.row = &flow;
    added.room = flow.room(queue.row->limits, request_.now.steady);
    if (flow.ready_branches == 0) {
        added.room = std::min(added.room, static_cast<std::uint64_t>(flow.due));
    } else if (added.room > 0) {
        added.walk.emplace(session_, books_, parking_, flow, request_.now.steady);
        added.room = added.walk->next() == nullptr ? 0 : added.room;
    }
    if (added.room == 0) {
        return false;
    }
    queue.flows.push_back(std::move(added));
    return true;
}

void claim_operation::free_slowed(const queue_row& queue) {
    const std::int64_t freed = session_.count(
        "UPDATE flows SET place = 1 WHERE id IN (SELECT id FROM flows WHERE place = 3 AND queue = "
        "? AND free_at <= ? ORDER BY free_at LIMIT ?)",
        queue.id, number_of(request_.now.steady), move_limit);
    has_more_to_move_ = has_more_to_move_ || freed == static_cast<std::int64_t>(move_limit);
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
        if (next.room > 0 && give_turn(queue, next)) {
            return true;
        }
    }
    queue.room = 0;
    return false;
}

bool claim_operation::give_turn(queue_turns& queue, flow_turns& flow) {
    static const std::string sql =
        "SELECT " + std::string(task_columns) + " FROM tasks WHERE id = ? AND line = ?";
    branch_walk::stop* from = nullptr;
    std::optional<sqlite::rows> first;
    while (flow.walk.has_value() && (!first.has_value() || first->empty())) {
        from = flow.walk->next();
        if (from == nullptr) {
            flow.room = 0;
            return false;
        }
        first.emplace(session_.query(sql, from->first.second, from->line));
        if (first->empty()) {
            flow.walk->correct(*from);
        }
    }
    --flow.room;
    --queue.room;
    queue.row->turn = ++last_turn_;
    flow.row->turn = last_turn_;
    flow.row->has_moved = true;
    const std::size_t turn = given_++;
    if (from == nullptr) {
        flow.turns.push_back(turn);
        return true;
    }
    result_.tasks.resize(given_);
    if (!start((*first)[0], turn, {*queue.row, *flow.row, from->branch})) {
        flow.walk->correct(*from);
        return true;
    }
    if (from->branch != nullptr) {
        result_.tasks[turn].destination = from->destination->name;
        from->branch->turn = last_turn_;
        from->branch->has_moved = true;
    }
    flow.walk->taken(*from);
    ++flow.taken;
    return true;
}

// Where the head of a line is known, the search does not pass over the tasks that were taken from
// before it. If there are fewer than are counted, the head was wrong.
void claim_operation::fetch() {
    std::vector<fetch_turn> wanted;
    for (queue_turns& queue : candidates_) {
        for (flow_turns& flow : queue.flows) {
            if (!flow.turns.empty()) {
                wanted.push_back({&queue, &flow});
            }
        }
    }
    fetch(wanted);
    std::erase_if(wanted, [](const fetch_turn& each) {
        return each.flow->taken == each.flow->turns.size() || !each.flow->row->head.has_value();
    });
    for (const fetch_turn& each : wanted) {
        each.flow->row->head.reset();
    }
    fetch(std::move(wanted));
    for (queue_turns& queue : candidates_) {
        for (flow_turns& flow : queue.flows) {
            take_rates(queue, flow);
        }
    }
}

// A part of the tasks at a time, so that PostgreSQL finds the next ones while these are started.
void claim_operation::fetch(std::vector<fetch_turn> wanted) {
    constexpr place_in_line start_of_line{std::numeric_limits<std::int64_t>::min(), 0};
    for (const fetch_turn& each : wanted) {
        each.flow->next = each.flow->row->head.value_or(start_of_line);
        each.flow->asked = each.flow->taken;
    }
    std::span<const fetch_turn> left = wanted;
    fetch_part part = ask(left);
    while (!part.shares.empty()) {
        const sql_groups found = part.answer->take();
        note_places(part, found);
        fetch_part next = ask(left);
        start(part, found);
        part = std::move(next);
    }
}

// For the first of these flows, which leave the list when all of their tasks are asked for.
claim_operation::fetch_part claim_operation::ask(std::span<const fetch_turn>& wanted) {
    static const std::string sql =
        "SELECT " + std::string(task_columns) +
        " FROM tasks WHERE line = ? AND (rank, id) >= (?, ?) ORDER BY rank, id LIMIT ?";
    fetch_part part;
    std::vector<sql_values> lines;
    std::size_t room = rows_together;
    while (room > 0 && !wanted.empty()) {
        flow_turns& flow = *wanted.front().flow;
        const std::size_t count = std::min(room, flow.turns.size() - flow.asked);
        if (count > 0) {
            lines.push_back(sql_session::values_of(due_line(flow.row->id), flow.next.rank,
                                                   flow.next.id, count));
            part.shares.push_back({wanted.front(), count});
        }
        flow.asked += count;
        room -= count;
        if (flow.asked == flow.turns.size()) {
            wanted = wanted.subspan(1);
        }
    }
    if (!lines.empty()) {
        part.answer = session_.ask_each(sql, std::move(lines));
    }
    return part;
}

// Where the flows' next tasks are: of those found, none is started yet.
void claim_operation::note_places(const fetch_part& part, const sql_groups& found) {
    for (std::size_t i = 0; i < part.shares.size(); ++i) {
        flow_turns& flow = *part.shares[i].from.flow;
        if (found.count(i) < part.shares[i].count) {
            flow.asked = flow.turns.size();  // there are no more
        }
        if (found.count(i) == 0) {
            continue;
        }
        const sqlite::row last = found.row(i, found.count(i) - 1);
        const place_in_line place{-last.get<std::int64_t>(3), last.get<std::int64_t>(0)};
        flow.next = {place.rank, place.id + 1};
        if (session_.keeps_dead_rows()) {
            flow.row->head = place;
        }
    }
}

void claim_operation::start(const fetch_part& part, const sql_groups& found) {
    for (std::size_t i = 0; i < part.shares.size(); ++i) {
        const auto& [queue, flow] = part.shares[i].from;
        for (std::size_t k = 0; k < found.count(i); ++k) {
            const std::size_t turn = flow->turns[flow->taken++];
            if (!start(found.row(i, k), turn, {*queue->row, *flow->row, nullptr})) {
                ++flow->not_started;
            }
        }
    }
}

void claim_operation::take_rates(queue_turns& queue, flow_turns& flow) {
    if (const std::uint64_t started = flow.taken - flow.not_started; started > 0) {
        rate_bucket queue_bucket = queue.row->bucket();
        queue_bucket.take(request_.now.steady, started);
        queue.row->full_at = queue_bucket.full_at();
        rate_bucket key_bucket = flow.row->bucket(queue.row->limits);
        key_bucket.take(request_.now.steady, started);
        flow.row->full_at = key_bucket.full_at();
    }
}

bool claim_operation::start(const sqlite::row& row, std::size_t turn, const task_place& place) {
    result_.tasks[turn] = starter_.start(row, place, {request_.node, node_});
    return static_cast<bool>(result_.tasks[turn].id);
}

std::optional<timestamp> claim_operation::next_at() {
    if (given_ == request_.limit || has_more_to_move_) {
        return request_.now.steady;
    }
    std::optional<timestamp> earliest;
    for (queue_row* const each : queues_) {
        const std::optional<timestamp> next = next_at(*each);
        if (next.has_value() && (!earliest.has_value() || *next < *earliest)) {
            earliest = next;
        }
    }
    const auto freed =
        session_
            .query("SELECT min(free_at) FROM destinations WHERE place = 3 AND free_at < ?",
                   pool_pause)
            .one<std::optional<std::int64_t>>();
    if (freed.has_value()) {
        earliest = std::min(earliest.value_or(timestamp::max()),
                            std::max(time_of(*freed), request_.now.steady));
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
    if (const std::optional<timestamp> due_at = starter_.next_due(queue)) {
        take_earlier(number_of(*due_at));
    }
    if (queue.due > 0) {
        if (queue.limits.key_rate > 0 || queue.keys_set > 0) {
            take_earlier(
                session_
                    .query("SELECT min(free_at) FROM flows WHERE place = 3 AND queue = ?", queue.id)
                    .one<std::optional<std::int64_t>>());
        }
        if (queue.bucket().is_limited() &&
            !session_.query("SELECT 1 FROM flows WHERE place = 1 AND queue = ? LIMIT 1", queue.id)
                 .empty()) {
            first = number_of(request_.now.steady);
        }
    }
    if (!first.has_value()) {
        return std::nullopt;
    }
    return std::max(time_of(*first), queue.bucket().next(request_.now.steady));
}

}  // namespace weir::service::detail
