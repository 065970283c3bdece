// SPDX-License-Identifier: MIT
// ledger: the queues, flows, branches and destinations that one transaction touches, with their
// counts. Each is read once, changed in memory and written once.
#pragma once

#include "service/store/rate_bucket.hpp"
#include "service/store/sql_session.hpp"
#include "service/store/sqlite/rows/branch_rows.hpp"

#include <weir/service/flow_key.hpp>
#include <weir/service/queue.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

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
    std::uint64_t keys_set = 0;  // flows with settings of their own
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
    enum class whereabouts : unsigned char { idle, ready, full, slowed, paused };

    std::int64_t id = 0;
    std::int64_t queue = 0;
    std::string key;
    std::int64_t tasks = 0;
    std::int64_t due = 0;  // without those in branches
    std::int64_t running = 0;
    std::int64_t turn = 0;
    std::int64_t full_at = 0;
    whereabouts place{};
    std::int64_t free_at = 0;
    std::int64_t ready_branches = 0;
    std::int64_t held_branches = 0;  // of pools
    key_settings own;
    bool is_changed = false;
    bool has_moved = false;  // the turn or place has changed, too

    rate_bucket bucket(const queue_limits& limits) const noexcept {
        return {own.rate_in(limits), own.burst_in(limits), full_at};
    }
    bool is_full(const queue_limits& limits) const noexcept {
        return own.max_running_in(limits) > 0 && running >= own.max_running_in(limits);
    }
    // How many tasks may start now.
    std::uint64_t room(const queue_limits& limits, timestamp now) const noexcept;
};

inline constexpr std::string_view queue_columns =
    "id, name, is_paused, max_pending, max_running, rate, burst, key_max_running, key_rate, "
    "key_burst, "
    "pending, running, completed, failed, cancelled, due, turn, full_at, keys_set";
queue_row read_queue(const sqlite::row& row);
inline constexpr std::string_view flow_columns =
    "id, queue, key, tasks, due, running, turn, full_at, place, free_at, ready_branches, "
    "is_paused, "
    "own_max_running, own_rate, own_burst, held_branches";
// `first`: where its columns begin.
flow_row read_flow(const sqlite::row& row, std::size_t first = 0);
// Columns of a table, with its name before each.
std::string qualified(std::string_view table, std::string_view columns);

// How a task is counted.
struct standing {
    task_state state{};
    bool is_due = false;  // only if pending
};

// The rows that count a task.
struct task_place {
    queue_row& queue;
    flow_row& flow;
    branch_row* branch;  // null: the task has no destination and no pool
};

// Whether max_queues allows this queue, which does not exist.
bool has_room_for_queue(sql_session& session, std::string_view name, std::size_t max_queues);

class ledger {
public:
    ledger(sql_session& session, moment now) : session_(session), now_(now) {}
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    // References stay valid. A row that does not exist is created if it is given by name or key.
    queue_row& queue(std::int64_t id);
    queue_row* queue(std::string_view name, std::size_t max_queues);  // null: one too many
    flow_row& flow(std::int64_t id);
    flow_row& flow(queue_row& queue, std::string_view key);
    branch_row& branch(std::int64_t id);
    branch_row& branch(const flow_row& flow, const destination_row& destination);
    destination_row& destination(std::int64_t id);
    destination_row& destination(std::string_view kind, std::string_view name);
    destination_row& pool(std::string_view kind) { return destination(kind, {}); }
    // Null: no branch.
    task_place place(std::int64_t queue, std::int64_t flow, std::optional<std::int64_t> branch);
    // Rows that the caller has read. A row that the ledger has already stays as it is.
    queue_row& add(queue_row row);
    flow_row& add(flow_row row);
    branch_row& add(branch_row row);
    destination_row& add(destination_row row);

    // Reads rows together that will be asked for: those of these numbers, or of these names and
    // keys if they exist.
    void read_ahead(const std::set<std::int64_t>& queues, const std::set<std::int64_t>& flows,
                    const std::set<std::int64_t>& branches);
    void read_ahead(const std::set<std::pair<std::string_view, std::string_view>>& flows);

    void enters(const task_place& place, standing counted);
    void moves(const task_place& place, standing from, standing to);
    void leaves(const task_place& place, standing counted);
    // Offers the branches that the flow holds to workers, whose claims check it.
    void offer_held(flow_row& row);
    // Writes the rows that have changed.
    void close();

private:
    queue_row* find_queue(std::int64_t id) noexcept;
    std::int64_t kind_id(std::string_view kind);
    void count(const task_place& place, standing counted, int change);
    void settle_place(branch_row& row);
    void settle_offer(branch_row& row);
    void slow_held(const flow_row& row, std::int64_t free_at);
    void set_place(branch_row& row, branch_row::whereabouts next);
    std::int64_t first_turn(const flow_row& flow, const destination_row& destination);
    bool read_first(branch_row& row);
    void write(queue_row& row);
    void write(flow_row& row);
    void write(branch_row& row);
    void write(destination_row& row);

    sql_session& session_;
    moment now_;
    std::deque<queue_row> queues_;
    std::deque<flow_row> flows_;
    std::unordered_map<std::int64_t, flow_row*> flows_by_id_;
    std::unordered_map<std::string, flow_row*> flows_by_key_;
    std::deque<branch_row> branches_;
    std::unordered_map<std::int64_t, branch_row*> branches_by_id_;
    std::map<std::pair<std::int64_t, std::int64_t>, branch_row*> branches_by_destination_;
    std::deque<destination_row> destinations_;
    std::unordered_map<std::int64_t, destination_row*> destinations_by_id_;
    std::unordered_map<std::string, destination_row*> destinations_by_name_;
};

}  // namespace weir::service::detail
