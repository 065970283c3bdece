// SPDX-License-Identifier: MIT
// ledger: the queues and flows that one transaction touches, with their counts. Each is read once,
// changed in memory and written once.
#pragma once

#include "service/store/rate_bucket.hpp"

#include <weir/db/sqlite/session.hpp>
#include <weir/service/queue.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir::service::detail {

inline std::int64_t number_of(timestamp at) noexcept {
    return at.time_since_epoch().count();
}
inline timestamp time_of(std::int64_t number) noexcept {
    return timestamp(std::chrono::microseconds(number));
}

struct queue_row : queue_record {
    std::int64_t id = 0;
    std::int64_t turn = 0;
    std::int64_t full_at = 0;
    bool is_changed = false;

    std::uint64_t& count(task_state state) noexcept {
        return counts[static_cast<std::size_t>(state)];
    }
    rate_bucket bucket() const noexcept { return {limits.rate, limits.burst, full_at}; }
    bool is_full() const noexcept {
        return limits.max_running > 0 &&
               queue_record::count(task_state::running) >= limits.max_running;
    }
};

struct flow_row {
    enum class whereabouts : unsigned char { idle, ready, full, slowed };

    std::int64_t id = 0;
    std::int64_t queue = 0;
    std::string key;
    std::int64_t tasks = 0;
    std::int64_t due = 0;
    std::int64_t running = 0;
    std::int64_t turn = 0;
    std::int64_t full_at = 0;
    whereabouts place{};
    std::int64_t free_at = 0;
    bool is_changed = false;
    bool has_moved = false;  // the turn or place has changed, too

    rate_bucket bucket(const queue_limits& limits) const noexcept {
        return {limits.key_rate, limits.key_burst, full_at};
    }
    bool is_full(const queue_limits& limits) const noexcept {
        return limits.key_max_running > 0 && running >= limits.key_max_running;
    }
};

inline constexpr std::string_view queue_columns =
    "id, name, is_paused, max_pending, max_running, rate, burst, key_max_running, key_rate, "
    "key_burst, "
    "pending, running, completed, failed, cancelled, due, turn, full_at";
queue_row read_queue(const sqlite::row& row);
inline constexpr std::string_view flow_columns =
    "id, queue, key, tasks, due, running, turn, full_at, place, free_at";
flow_row read_flow(const sqlite::row& row);

// How a task is counted.
struct standing {
    task_state state{};
    bool is_due = false;  // only if pending
};

// Whether max_queues allows another queue.
bool has_room_for_queue(sqlite::session& session, std::size_t max_queues);

class ledger {
public:
    ledger(sqlite::session& session, timestamp now) : session_(session), now_(now) {}
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    // References stay valid. A queue or flow that does not exist is created if it is given by name
    // or key.
    queue_row& queue(std::int64_t id);
    queue_row* queue(std::string_view name, std::size_t max_queues);  // null: one too many
    flow_row& flow(std::int64_t id);
    flow_row& flow(queue_row& queue, std::string_view key);
    // Rows that the caller has read. A flow that the ledger has already stays as it is.
    queue_row& add(queue_row row);
    flow_row& add(flow_row row);

    void enters(queue_row& queue, flow_row& flow, standing counted);
    void moves(queue_row& queue, flow_row& flow, standing from, standing to);
    void leaves(queue_row& queue, flow_row& flow, standing counted);
    // Writes the rows that have changed.
    void close();

private:
    void count(queue_row& queue, flow_row& flow, standing counted, int change);
    void write(queue_row& row);
    void write(flow_row& row);

    sqlite::session& session_;
    timestamp now_;
    std::deque<queue_row> queues_;
    std::deque<flow_row> flows_;
    std::unordered_map<std::int64_t, flow_row*> flows_by_id_;
    std::unordered_map<std::string, flow_row*> flows_by_key_;
};

}  // namespace weir::service::detail
