// SPDX-License-Identifier: MIT
// A call touches few queues and often one flow, however many tasks it has: each is read once and
// written once. A flow's place follows from its numbers, so it is worked out when it is written;
// the indexes of flows are touched only if it changes.

#include "service/store/sqlite/ledger.hpp"

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

queue_row read_queue(const sqlite::row& from) {
    queue_row read;
    std::size_t next = 0;
    const auto take = [&](auto& into) { into = from.get<std::decay_t<decltype(into)>>(next++); };
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

flow_row read_flow(const sqlite::row& from) {
    flow_row read;
    std::size_t next = 0;
    const auto take = [&](auto& into) { into = from.get<std::decay_t<decltype(into)>>(next++); };
    take(read.id);
    take(read.queue);
    take(read.key);
    take(read.tasks);
    take(read.due);
    take(read.running);
    take(read.turn);
    take(read.full_at);
    read.place = static_cast<whereabouts>(from.get<int>(next++));
    take(read.free_at);
    return read;
}

queue_row& ledger::add(queue_row known) {
    return queues_.emplace_back(std::move(known));
}

flow_row& ledger::add(flow_row known) {
    const auto found = by_id_.find(known.id);
    if (found != by_id_.end()) {
        return *found->second;
    }
    flow_row& added = flows_.emplace_back(std::move(known));
    by_id_.emplace(added.id, &added);
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
    const sqlite::rows found = on_.query(sql, id);
    return add(read_queue(found[0]));
}

bool has_room_for_queue(sqlite::session& on, std::size_t max_queues) {
    return on.query("SELECT count(*) FROM queues").one<std::uint64_t>() < max_queues;
}

queue_row* ledger::queue(std::string_view name, std::size_t max_queues) {
    for (queue_row& each : queues_) {
        if (each.name == name) {
            return &each;
        }
    }
    static const std::string sql =
        "SELECT " + std::string(queue_columns) + " FROM queues WHERE name = ?";
    const sqlite::rows found = on_.query(sql, name);
    if (!found.empty()) {
        return &add(read_queue(found[0]));
    }
    if (!has_room_for_queue(on_, max_queues)) {
        return nullptr;
    }
    queue_row fresh;
    fresh.name = name;
    fresh.id = on_.execute("INSERT INTO queues(name) VALUES (?)", name).last_id;
    return &add(std::move(fresh));
}

flow_row& ledger::flow(std::int64_t id) {
    const auto known = by_id_.find(id);
    if (known != by_id_.end()) {
        return *known->second;
    }
    static const std::string sql =
        "SELECT " + std::string(flow_columns) + " FROM flows WHERE id = ?";
    const sqlite::rows found = on_.query(sql, id);
    return add(read_flow(found[0]));
}

flow_row& ledger::flow(queue_row& queue, std::string_view key) {
    std::string name = std::to_string(queue.id);
    name.append(" ").append(key);
    flow_row*& known = by_key_[std::move(name)];
    if (known != nullptr) {
        return *known;
    }
    static const std::string sql =
        "SELECT " + std::string(flow_columns) + " FROM flows WHERE queue = ? AND key = ?";
    const sqlite::rows found = on_.query(sql, queue.id, key);
    if (!found.empty()) {
        known = &add(read_flow(found[0]));
        return *known;
    }
    // A new flow gets the last turn: a key that is removed and added again must not be first each
    // time.
    flow_row fresh;
    fresh.queue = queue.id;
    fresh.key = key;
    fresh.turn = queue.turn;
    fresh.id = on_.execute("INSERT INTO flows(queue, key, turn) VALUES (?, ?, ?)", queue.id, key,
                           queue.turn)
                   .last_id;
    known = &add(std::move(fresh));
    return *known;
}

void ledger::count(queue_row& queue, flow_row& flow, standing as, int delta) {
    queue.count(as.state) += static_cast<std::uint64_t>(static_cast<std::int64_t>(delta));
    if (as.state == task_state::pending && as.is_due) {
        queue.due += static_cast<std::uint64_t>(static_cast<std::int64_t>(delta));
        flow.due += delta;
    }
    if (as.state == task_state::running) {
        flow.running += delta;
    }
    queue.is_changed = true;
    flow.is_changed = true;
}

void ledger::enters(queue_row& queue, flow_row& flow, standing as) {
    ++flow.tasks;
    count(queue, flow, as, 1);
}

void ledger::moves(queue_row& queue, flow_row& flow, standing from, standing to) {
    count(queue, flow, from, -1);
    count(queue, flow, to, 1);
}

void ledger::leaves(queue_row& queue, flow_row& flow, standing as) {
    --flow.tasks;
    count(queue, flow, as, -1);
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

void ledger::write(queue_row& changed) {
    on_.execute(
        "UPDATE queues SET pending = ?, running = ?, completed = ?, failed = ?, cancelled = ?, "
        "due = ?, turn = ?, full_at = ?, used_at = ? WHERE id = ?",
        changed.counts[0], changed.counts[1], changed.counts[2], changed.counts[3],
        changed.counts[4], changed.due, changed.turn, changed.full_at, number_of(now_), changed.id);
    changed.is_changed = false;
}

void ledger::write(flow_row& changed) {
    const queue_limits& limits = queue(changed.queue).limits;
    const whereabouts place = place_of(changed, limits, now_);
    const std::int64_t free_at = place == whereabouts::slowed
                                     ? number_of(changed.bucket(limits).next(now_))
                                     : changed.free_at;
    if (changed.has_moved || place != changed.place || free_at != changed.free_at) {
        changed.place = place;
        changed.free_at = free_at;
        on_.execute(
            "UPDATE flows SET tasks = ?, due = ?, running = ?, turn = ?, full_at = ?, place = ?, "
            "free_at = ? WHERE id = ?",
            changed.tasks, changed.due, changed.running, changed.turn, changed.full_at,
            static_cast<int>(place), free_at, changed.id);
    } else {
        on_.execute("UPDATE flows SET tasks = ?, due = ?, running = ? WHERE id = ?", changed.tasks,
                    changed.due, changed.running, changed.id);
    }
    changed.is_changed = false;
    changed.has_moved = false;
}

}  // namespace weir::service::detail
