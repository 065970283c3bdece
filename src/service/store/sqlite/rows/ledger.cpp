// SPDX-License-Identifier: MIT
// A transaction touches few queues and often one flow, however many tasks it has, so each row is
// read once and written once. The place of a flow follows from its counts and limits: write()
// computes it, and updates the indexed columns only if they change.

#include "service/store/sqlite/rows/ledger.hpp"

namespace weir::service::detail {

namespace {

using whereabouts = flow_row::whereabouts;

whereabouts place_of(const flow_row& flow, const queue_limits& limits, timestamp now) noexcept {
    if (flow.due == 0) {
        return whereabouts::idle;
    }
    if (flow.is_full(limits)) {
        return whereabouts::full;
    }
    return flow.bucket(limits).available(now) == 0 ? whereabouts::slowed : whereabouts::ready;
}

}  // namespace

queue_row read_queue(const sqlite::row& row) {
    queue_row read;
    std::size_t next = 0;
    const auto take = [&](auto& member) {
        member = row.get<std::decay_t<decltype(member)>>(next++);
    };
    take(read.id);
    take(read.name);
    take(read.is_paused);
    take(read.limits.max_pending);
    take(read.limits.max_running);
    take(read.limits.rate);
    take(read.limits.burst);
    take(read.limits.key_max_running);
    take(read.limits.key_rate);
    take(read.limits.key_burst);
    for (std::uint64_t& each : read.counts) {
        take(each);
    }
    take(read.due);
    take(read.turn);
    take(read.full_at);
    return read;
}

flow_row read_flow(const sqlite::row& row) {
    flow_row read;
    std::size_t next = 0;
    const auto take = [&](auto& member) {
        member = row.get<std::decay_t<decltype(member)>>(next++);
    };
    take(read.id);
    take(read.queue);
    take(read.key);
    take(read.tasks);
    take(read.due);
    take(read.running);
    take(read.turn);
    take(read.full_at);
    read.place = static_cast<whereabouts>(row.get<int>(next++));
    take(read.free_at);
    return read;
}

queue_row& ledger::add(queue_row row) {
    return queues_.emplace_back(std::move(row));
}

flow_row& ledger::add(flow_row row) {
    const auto found = flows_by_id_.find(row.id);
    if (found != flows_by_id_.end()) {
        return *found->second;
    }
    flow_row& added = flows_.emplace_back(std::move(row));
    flows_by_id_.emplace(added.id, &added);
    return added;
}

queue_row& ledger::queue(std::int64_t id) {
    for (queue_row& each : queues_) {
        if (each.id == id) {
            return each;
        }
    }
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE id = ?";
    const sqlite::rows found = session_.query(sql, id);
    return add(read_queue(found[0]));
}

bool has_room_for_queue(sqlite::session& session, std::size_t max_queues) {
    return session.query("SELECT count(*) FROM queues").one<std::uint64_t>() < max_queues;
}

queue_row* ledger::queue(std::string_view name, std::size_t max_queues) {
    for (queue_row& each : queues_) {
        if (each.name == name) {
            return &each;
        }
    }
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE name = ?";
    const sqlite::rows found = session_.query(sql, name);
    if (!found.empty()) {
        return &add(read_queue(found[0]));
    }
    if (!has_room_for_queue(session_, max_queues)) {
        return nullptr;
    }
    queue_row made;
    made.name = name;
    made.id = session_.execute("INSERT INTO queues(name) VALUES (?)", name).last_id;
    return &add(std::move(made));
}

flow_row& ledger::flow(std::int64_t id) {
    const auto known = flows_by_id_.find(id);
    if (known != flows_by_id_.end()) {
        return *known->second;
    }
    static const std::string sql =
        "SELECT " + std::string(flow_columns) + " FROM flows WHERE id = ?";
    const sqlite::rows found = session_.query(sql, id);
    return add(read_flow(found[0]));
}

flow_row& ledger::flow(queue_row& queue, std::string_view key) {
    std::string name = std::to_string(queue.id);
    name.append(" ").append(key);
    flow_row*& known = flows_by_key_[std::move(name)];
    if (known != nullptr) {
        return *known;
    }
    static const std::string sql =
        "SELECT " + std::string(flow_columns) + " FROM flows WHERE queue = ? AND key = ?";
    const sqlite::rows found = session_.query(sql, queue.id, key);
    if (!found.empty()) {
        known = &add(read_flow(found[0]));
        return *known;
    }
    // After all other flows: a key that comes and goes must not be first each time.
    flow_row made;
    made.queue = queue.id;
    made.key = key;
    made.turn = queue.turn;
    made.id = session_
                  .execute("INSERT INTO flows(queue, key, turn) VALUES (?, ?, ?)", queue.id, key,
                           queue.turn)
                  .last_id;
    known = &add(std::move(made));
    return *known;
}

void ledger::count(queue_row& queue, flow_row& flow, standing counted, int change) {
    queue.count(counted.state) += static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
    if (counted.state == task_state::pending && counted.is_due) {
        queue.due += static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
        flow.due += change;
    }
    if (counted.state == task_state::running) {
        flow.running += change;
    }
    queue.is_changed = true;
    flow.is_changed = true;
}

void ledger::enters(queue_row& queue, flow_row& flow, standing counted) {
    ++flow.tasks;
    count(queue, flow, counted, 1);
}

void ledger::moves(queue_row& queue, flow_row& flow, standing from, standing to) {
    count(queue, flow, from, -1);
    count(queue, flow, to, 1);
}

void ledger::leaves(queue_row& queue, flow_row& flow, standing counted) {
    --flow.tasks;
    count(queue, flow, counted, -1);
}

void ledger::close() {
    for (flow_row& each : flows_) {
        if (each.is_changed) {
            write(each);
        }
    }
    for (queue_row& each : queues_) {
        if (each.is_changed) {
            write(each);
        }
    }
}

void ledger::write(queue_row& row) {
    session_.execute(
        "UPDATE queues SET pending = ?, running = ?, completed = ?, failed = ?, cancelled = ?, "
        "due = ?, turn = ?, full_at = ?, used_at = ? WHERE id = ?",
        row.counts[0], row.counts[1], row.counts[2], row.counts[3], row.counts[4], row.due,
        row.turn, row.full_at, number_of(now_), row.id);
    row.is_changed = false;
}

void ledger::write(flow_row& row) {
    const queue_limits& limits = queue(row.queue).limits;
    const whereabouts place = place_of(row, limits, now_);
    const std::int64_t free_at =
        place == whereabouts::slowed ? number_of(row.bucket(limits).next(now_)) : row.free_at;
    if (row.has_moved || place != row.place || free_at != row.free_at) {
        row.place = place;
        row.free_at = free_at;
        session_.execute(
            "UPDATE flows SET tasks = ?, due = ?, running = ?, turn = ?, full_at = ?, place = ?, "
            "free_at = ? WHERE id = ?",
            row.tasks, row.due, row.running, row.turn, row.full_at, static_cast<int>(place),
            free_at, row.id);
    } else {
        session_.execute("UPDATE flows SET tasks = ?, due = ?, running = ? WHERE id = ?", row.tasks,
                         row.due, row.running, row.id);
    }
    row.is_changed = false;
    row.has_moved = false;
}

}  // namespace weir::service::detail
