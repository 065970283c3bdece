// SPDX-License-Identifier: MIT
// Queues: tasks that share limits and can be paused together.
#pragma once

#include <weir/service/task.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::service {

// Tasks of a queue share limits and a pause; use a flow key for a property with many values
// (customers, say). Each claim looks at all queues with waiting tasks, so their number is limited,
// also if clients invent names.
inline constexpr std::size_t default_max_queues = 1000;

// 0 is no limit. All hold over all nodes that share a store, and over crashes.
struct queue_limits {
    std::uint64_t max_pending = 0;  // more are refused
    std::uint32_t max_running = 0;
    double rate = 0;          // begun a second
    std::uint32_t burst = 1;  // at once, with a rate
    // Of each flow key. Keys take turns, so that one with a million tasks delays another's by one
    // turn at most; tasks without a key are a key, too.
    std::uint32_t key_max_running = 0;
    double key_rate = 0;
    std::uint32_t key_burst = 1;

    friend bool operator==(const queue_limits&, const queue_limits&) = default;
};
// Throws invalid_argument that names the limit, its value, and what would be right.
void check(const queue_limits& limits);

struct queue_record {
    queue_record() = default;

    std::string name;
    bool is_paused = false;
    queue_limits limits;
    // By task_state; kept up to date by the store, not counted.
    std::array<std::uint64_t, 5> counts{};
    std::uint64_t due = 0;  // of the pending ones, those that wait for nothing but their turn

    std::uint64_t count(task_state state) const noexcept {
        return counts[static_cast<std::size_t>(state)];
    }
};

}  // namespace weir::service
