// SPDX-License-Identifier: MIT
// Destinations, and branches: the tasks of one flow that have the same destination. Due tasks of a
// branch wait in a line of their own, so that a claim passes them over together. The pool of the
// workers of a kind is a destination without a name.
#pragma once

#include "service/store/destination_gate.hpp"

#include <weir/db/sqlite/session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service::detail {

struct destination_row {
    enum class whereabouts : unsigned char { idle, ready, full, slowed };

    std::int64_t id = 0;
    std::int64_t kind = 0;
    std::string name;
    destination_limits limits;  // of its kind
    destination_state state;
    std::int64_t due = 0;
    std::int64_t parked = 0;  // branches
    std::int64_t turn = 0;    // when a claim last woke branches
    whereabouts place{};      // idle: no branch is parked
    std::int64_t free_at = 0;
    bool is_changed = false;

    destination_gate gate() noexcept { return {limits, state}; }
    bool is_pool() const noexcept { return name.empty(); }
};

// The pause that a pool asks for: see file/schema.cpp.
inline constexpr std::int64_t pool_pause = 253'370'764'800'000'000;  // in microseconds: year 9999

struct branch_row {
    // idle: nothing is due; ready: in the walk of its flow; parked: waits for its destination, or
    // for workers.
    enum class whereabouts : unsigned char { idle, ready, parked };

    std::int64_t id = 0;
    std::int64_t flow = 0;
    std::int64_t destination = 0;
    std::int64_t tasks = 0;
    std::int64_t due = 0;
    std::int64_t rank = 0;  // of its first due task, while it is ready
    std::int64_t head = 0;  // that task
    std::int64_t turn = 0;
    whereabouts place{};
    std::optional<std::int64_t> pool;     // see file/schema.cpp; so the next two
    std::optional<std::int64_t> offered;  // its queue; 0: held by its flow
    std::int64_t free_at = 0;
    bool is_changed = false;
    bool has_moved = false;  // the turn or place has changed, too
    bool is_woken = false;   // its destination has room for it, before other parked branches
};

// Tables that read_destination() expects, with a condition to be appended.
inline constexpr std::string_view destination_query =
    "SELECT destinations.id, kind, destinations.name, max_running, rate, burst, open_after, "
    "open_for, running, failures, full_at, not_before, open_until, due, parked, turn, place, "
    "free_at FROM destinations CROSS JOIN destination_kinds ON destination_kinds.id = kind WHERE ";
destination_row read_destination(const sqlite::row& row);

inline constexpr std::string_view branch_columns =
    "id, flow, destination, tasks, due, rank, head, turn, place, pool, offered, free_at";
inline constexpr std::size_t branch_column_count = 12;
branch_row read_branch(const sqlite::row& row);

}  // namespace weir::service::detail
