// SPDX-License-Identifier: MIT
// Queues: tasks that share limits and can be paused together.
#pragma once

#include <weir/service/task.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::service {

// A queue is for tasks that share limits and a pause; use flow keys for names that are many, such
// as customers. Each claim reads all queues with pending tasks, so their number is limited, even if
// clients invent names.
inline constexpr std::size_t default_max_queues = 1000;
// The queue of tasks that name none. It is always allowed: other names cannot take its place.
inline constexpr std::string_view default_queue = "default";

// 0: no limit. Limits apply across all nodes that share a store, and across crashes.
struct queue_limits {
    std::uint64_t max_pending = 0;  // further submits are refused
    std::uint32_t max_running = 0;
    double rate = 0;          // starts per second
    std::uint32_t burst = 1;  // starts at once, with a rate
    // The same for each flow key. Keys take turns, so that a key with a million tasks delays
    // another by one turn at most. Tasks without a key share one.
    std::uint32_t key_max_running = 0;
    double key_rate = 0;
    std::uint32_t key_burst = 1;

    friend bool operator==(const queue_limits&, const queue_limits&) = default;
};
// Throws invalid_value that names the limit, its value and the valid values.
void check(const queue_limits& limits);

struct queue_record {
    queue_record() = default;

    std::string name;
    bool is_paused = false;
    queue_limits limits;
    // Tasks by task_state. Stores update the counts with each change, so reading them is cheap.
    std::array<std::uint64_t, 5> counts{};
    std::uint64_t due = 0;  // pending tasks that wait only for their turn

    std::uint64_t count(task_state state) const noexcept {
        return counts[static_cast<std::size_t>(state)];
    }
};

// A queue with due tasks, whatever holds them up: limits, a pause, busy workers.
struct due_queue {
    due_queue() = default;

    std::string name;
    timestamp since{};  // when its oldest due task has become due, on the calendar
};

}  // namespace weir::service
