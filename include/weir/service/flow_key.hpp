// SPDX-License-Identifier: MIT
// Settings of one flow key of a queue: a pause, and limits instead of those that the queue has for
// each of its keys. They stay until they are removed, also while the key has no tasks.
#pragma once

#include <weir/error.hpp>
#include <weir/service/queue.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weir::service {

// Of keys with settings, in one queue. More are refused, even if clients invent names.
inline constexpr std::size_t max_keys_with_settings = 10'000;

struct key_settings {
    key_settings() = default;

    bool is_paused = false;
    // Empty: the queue's key_max_running, key_rate, key_burst. 0: no limit.
    std::optional<std::uint32_t> max_running;
    std::optional<double> rate;
    std::optional<std::uint32_t> burst;

    std::uint32_t max_running_in(const queue_limits& queue) const noexcept {
        return max_running.value_or(queue.key_max_running);
    }
    double rate_in(const queue_limits& queue) const noexcept {
        return rate.value_or(queue.key_rate);
    }
    std::uint32_t burst_in(const queue_limits& queue) const noexcept {
        return burst.value_or(queue.key_burst);
    }
    friend bool operator==(const key_settings&, const key_settings&) = default;
};
// Throws invalid_value that names the limit, its value and the valid values.
void check(const key_settings& settings);

// A change of the settings. Members that are empty stay; limits that hold an empty value are the
// queue's again.
struct key_change {
    key_change() = default;

    std::optional<bool> is_paused;
    std::optional<std::optional<std::uint32_t>> max_running;
    std::optional<std::optional<double>> rate;
    std::optional<std::optional<std::uint32_t>> burst;

    // No settings of its own.
    static key_change reset();
    key_settings applied_to(key_settings settings) const;
};

// The keys of a list, by name.
struct key_query {
    key_query() = default;

    std::string after;  // the key before the first one
    std::size_t limit = 100;
    bool is_only_set = false;  // only keys with settings
    std::string only;          // this key alone; empty: all
};

struct key_record {
    key_record() = default;

    std::string key;
    key_settings settings;
    std::optional<std::uint64_t> pending;  // empty: too many tasks wait in the queue to count them
    std::uint64_t due = 0;                 // of the pending tasks
    std::uint64_t running = 0;
};

// The settings would be those of one key more than max_keys_with_settings.
class too_many_keys : public invalid_argument {
public:
    using invalid_argument::invalid_argument;
};

}  // namespace weir::service
