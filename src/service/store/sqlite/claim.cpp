// SPDX-License-Identifier: MIT
// Chooses the tasks that run next. A claim first moves tasks that have become due to the lines of
// their flows, and frees flows that waited for their rate. Then it distributes turns without
// reading tasks: queues in the order of their last turn, each giving the turn to its flow that has
// waited longest, one at a time, as far as limits allow. Only then it fetches tasks, of each flow
// as many as it has turns, by priority and age. The cost does not depend on the number of waiting
// tasks.

#include "service/store/sqlite/task_rows.hpp"

#include <algorithm>
#include <limits>

namespace weir::service::detail {

namespace {

// The number of tasks that one claim moves; the next claim continues.
constexpr std::size_t most_moved = 1000;

struct flow_turns {
    flow_row* flow = nullptr;
    std::uint64_t room = 0;  // how many more tasks its limits allow
    std::vector<std::size_t> turns;
};

struct queue_turns {
    queue_row* queue = nullptr;
    std::uint64_t room = 0;
    std::vector<flow_turns> flows;
    std::size_t next = 0;  // index of the flow that gets the next turn
};

class claiming {
public:
    claiming(sqlite::session& on, const claim_request& request, std::int64_t node,
             event_list& events)
        : on_(on), request_(request), node_(node), events_(events), books_(on, request.now) {}
    claimed run();

private:
    void read_queues();
    void move_due(queue_row& queue);
    void free_slowed(const queue_row& queue);
    void find_flows(queue_turns& entry);
    void give_turns();
    bool give_turn(queue_turns& entry);
    void fetch(queue_turns& entry, flow_turns& in);
    std::optional<timestamp> next_at();
    std::optional<timestamp> next_at(queue_row& queue);

    sqlite::session& on_;
    const claim_request& request_;
    std::int64_t node_;
    event_list& events_;
    ledger books_;
    std::vector<queue_row*> queues_;
    std::vector<queue_turns> turns_;
    std::int64_t last_turn_ = 0;
    std::size_t turn_count_ = 0;
    bool has_more_to_move_ = false;
    claimed result_;
};

claimed claiming::run() {
    read_queues();
    for (queue_row* const each : queues_) {
        if (each->queue_record::count(task_state::pending) > each->due) {
            move_due(*each);
        }
    }
    std::size_t with_turns = 0;  // no more than `limit` queues can get a turn
    for (queue_row* const each : queues_) {
        if (with_turns >= request_.limit) {
            break;
        }
        const std::uint64_t room =
            each->limits.max_running == 0
                ? std::numeric_limits<std::uint64_t>::max()
                : each->limits.max_running -
                      std::min<std::uint64_t>(each->limits.max_running,
                                              each->count(task_state::running));
        queue_turns entry;
        entry.queue = each;
        entry.room = std::min(room, each->bucket().available(request_.now));
        if (!each->is_paused && each->due > 0 && entry.room > 0) {
            find_flows(entry);
            with_turns += entry.flows.empty() ? 0 : 1;
            turns_.push_back(std::move(entry));
        }
    }
    give_turns();
    result_.tasks.resize(turn_count_);
    for (queue_turns& each : turns_) {
        for (flow_turns& in : each.flows) {
            if (!in.turns.empty()) {
                fetch(each, in);
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

void claiming::read_queues() {
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE pending > 0 ORDER BY turn, id";
    const sqlite::rows found = on_.query(sql);
    for (const sqlite::row each : found) {
        queues_.push_back(&books_.add(read_queue(each)));
    }
    last_turn_ =
        on_.query("SELECT max(turn) FROM queues").one<std::optional<std::int64_t>>().value_or(0);
}

void claiming::move_due(queue_row& queue) {
    const sqlite::rows due = on_.query(
        "SELECT id, flow, priority FROM tasks WHERE line = ? AND rank <= ? ORDER BY rank LIMIT ?",
        later_line(queue.id), number_of(request_.now), most_moved);
    for (const sqlite::row each : due) {
        on_.execute("UPDATE tasks SET line = ?, rank = ? WHERE id = ?",
                    due_line(each.get<std::int64_t>(1)), -each.get<std::int64_t>(2),
                    each.get<std::int64_t>(0));
        books_.moves(queue, books_.flow(each.get<std::int64_t>(1)), {task_state::pending, false},
                     {task_state::pending, true});
    }
    has_more_to_move_ = has_more_to_move_ || due.size() == most_moved;
    if (!due.empty()) {
        books_.close();  // find_flows() reads the flows from the database
    }
}

void claiming::free_slowed(const queue_row& queue) {
    const sqlite::changed freed = on_.execute(
        "UPDATE flows SET place = 1 WHERE id IN (SELECT id FROM flows WHERE place = 3 AND queue = "
        "? AND free_at <= ? ORDER BY free_at LIMIT ?)",
        queue.id, number_of(request_.now), most_moved);
    has_more_to_move_ = has_more_to_move_ || freed.rows == static_cast<std::int64_t>(most_moved);
}

// Selects as many flows as could get a turn, the longest waiting first.
void claiming::find_flows(queue_turns& entry) {
    static const std::string sql =
        "SELECT " + std::string(flow_columns) +
        " FROM flows WHERE place = 1 AND queue = ? ORDER BY turn, id LIMIT ?";
    const queue_limits& limits = entry.queue->limits;
    if (limits.key_rate > 0) {
        free_slowed(*entry.queue);
    }
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(request_.limit, entry.room));
    for (;;) {
        const sqlite::rows found = on_.query(sql, entry.queue->id, wanted);
        bool has_outdated = false;
        for (const sqlite::row each : found) {
            flow_row& flow = books_.add(read_flow(each));
            const auto running = static_cast<std::uint64_t>(flow.running);
            std::uint64_t room = static_cast<std::uint64_t>(flow.due);
            if (limits.key_max_running > 0) {
                room = std::min(room, limits.key_max_running -
                                          std::min<std::uint64_t>(limits.key_max_running, running));
            }
            room = std::min(room, flow.bucket(limits).available(request_.now));
            if (room == 0) {
                // The limits have changed since the flow was marked ready.
                flow.is_changed = true;
                has_outdated = true;
            } else {
                entry.flows.push_back({&flow, room, {}});
            }
        }
        if (!has_outdated) {
            return;
        }
        books_.close();
        entry.flows.clear();
    }
}

void claiming::give_turns() {
    bool has_given = true;
    while (has_given && turn_count_ < request_.limit) {
        has_given = false;
        for (queue_turns& each : turns_) {
            has_given = (turn_count_ < request_.limit && give_turn(each)) || has_given;
        }
    }
}

bool claiming::give_turn(queue_turns& entry) {
    if (entry.room == 0) {
        return false;
    }
    for (std::size_t seen = 0; seen < entry.flows.size(); ++seen) {
        flow_turns& next = entry.flows[entry.next];
        entry.next = (entry.next + 1) % entry.flows.size();
        if (next.room > 0) {
            --next.room;
            --entry.room;
            next.turns.push_back(turn_count_++);
            entry.queue->turn = ++last_turn_;
            next.flow->turn = last_turn_;
            next.flow->has_moved = true;
            return true;
        }
    }
    entry.room = 0;
    return false;
}

void claiming::fetch(queue_turns& entry, flow_turns& in) {
    static const std::string sql = "SELECT " + std::string(task_columns) +
                                   " FROM tasks WHERE line = ? ORDER BY rank, id LIMIT ?";
    const sqlite::rows found = on_.query(sql, due_line(in.flow->id), in.turns.size());
    const std::int64_t now = number_of(request_.now);
    std::size_t turn = 0;
    for (const sqlite::row each : found) {
        task_record& task = result_.tasks[in.turns[turn++]];
        task = read_task(each);
        task.state = task_state::running;
        ++task.run;
        task.queue = entry.queue->name;
        task.flow_key = in.flow->key;
        task.node = request_.node;
        task.started_at = request_.now;
        task.progress = 0;
        task.message.clear();
        task.held_by.clear();
        on_.execute(
            "UPDATE tasks SET state = 1, line = ?, rank = 0, run = ?, node = ?, started_at = ?, "
            "progress = NULL, "
            "message = NULL, held_by = NULL WHERE id = ?",
            running_line(node_), task.run, node_, now, task.id.number());
        books_.moves(*entry.queue, *in.flow, {task_state::pending, true},
                     {task_state::running, false});
    }
    rate_bucket queue_rate = entry.queue->bucket();
    queue_rate.take(request_.now, turn);
    entry.queue->full_at = queue_rate.full_at();
    rate_bucket key_rate = in.flow->bucket(entry.queue->limits);
    key_rate.take(request_.now, turn);
    in.flow->full_at = key_rate.full_at();
}

std::optional<timestamp> claiming::next_at() {
    if (turn_count_ == request_.limit || has_more_to_move_) {
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

// The earliest time at which the queue's rate allows a start and a task is available: a task
// becomes due, or the rate of a key allows one.
std::optional<timestamp> claiming::next_at(queue_row& queue) {
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
        take_earlier(on_.query("SELECT min(rank) FROM tasks WHERE line = ?", later_line(queue.id))
                         .one<std::optional<std::int64_t>>());
    }
    if (queue.due > 0) {
        if (queue.limits.key_rate > 0) {
            take_earlier(
                on_.query("SELECT min(free_at) FROM flows WHERE place = 3 AND queue = ?", queue.id)
                    .one<std::optional<std::int64_t>>());
        }
        if (queue.bucket().is_limited() &&
            !on_.query("SELECT 1 FROM flows WHERE place = 1 AND queue = ? LIMIT 1", queue.id)
                 .empty()) {
            first = number_of(request_.now);
        }
    }
    if (!first.has_value()) {
        return std::nullopt;
    }
    return std::max(time_of(*first), queue.bucket().next(request_.now));
}

}  // namespace

claimed claim_tasks(sqlite::session& on, const claim_request& request, event_list& events) {
    const std::optional<std::int64_t> node = node_number(on, request.node, request.now);
    if (!node.has_value() || request.limit == 0) {
        return {};
    }
    claiming now(on, request, *node, events);
    return now.run();
}

}  // namespace weir::service::detail
