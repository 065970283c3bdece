// SPDX-License-Identifier: MIT
// The rows of queues, and of flows: the tasks of one queue with the same flow key.
#pragma once

#include "service/store/rate_bucket.hpp"
#include "service/store/sql_session.hpp"

#include <weir/service/flow_key.hpp>
#include <weir/service/queue.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service::detail {

inline std::int64_t number_of(timestamp at) noexcept {
    return at.time_since_epoch().count();
}
inline std::optional<std::int64_t> number_of(const std::optional<timestamp>& at) noexcept {
    return at.has_value() ? std::optional(number_of(*at)) : std::nullopt;
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

// A task among those of a line.
struct place_in_line {
    std::int64_t rank = 0;
    std::int64_t id = 0;

    friend auto operator<=>(const place_in_line&, const place_in_line&) = default;
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
    // No due task outside of branches is before it. Empty: unknown.
    std::optional<place_in_line> head;
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
    "own_max_running, own_rate, own_burst, held_branches, head_rank, head_id";
// `first`: where its columns begin.
flow_row read_flow(const sqlite::row& row, std::size_t first = 0);
// Columns of a table, with its name before each.
std::string qualified(std::string_view table, std::string_view columns);

}  // namespace weir::service::detail
