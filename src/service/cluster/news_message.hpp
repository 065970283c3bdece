// SPDX-License-Identifier: MIT
// What nodes tell each other over the channel of their store.
#pragma once

#include <weir/service/store.hpp>
#include <weir/service/task.hpp>
#include <weir/service/task_id.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::service::detail {

// What a node wants to hear of the tasks that others change.
struct news_interest {
    bool all = false;           // somebody watches: events, and counters each second
    bool ends = false;          // requests wait for ends of tasks
    bool workers = false;       // polls of workers wait for tasks
    std::set<task_id> tasks{};  // all events of these

    static constexpr std::size_t max_tasks = 32;  // if more: all, or ends

    bool is_empty() const noexcept { return !all && !ends && !workers && tasks.empty(); }
    void add(const news_interest& other);
    friend bool operator==(const news_interest&, const news_interest&) = default;
};

// What a node has done since its start.
struct news_counters {
    std::uint64_t submitted = 0;
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;

    friend bool operator==(const news_counters&, const news_counters&) = default;
};

struct news_message {
    std::string from;          // of this start of the process
    std::uint64_t number = 0;  // of the messages of `from`, without gaps
    std::string node;          // its lease
    std::size_t free = 0;      // workers that would take a task now
    news_interest wants;
    news_counters counters;
    bool asks = false;     // it has just begun to listen: all others tell their state
    bool leaves = false;   // its last message
    std::string work_for;  // this process may claim tasks that the sender has no worker for
    std::vector<task_id> cancelling;
    std::vector<task_event> events;  // messages in them may be cut
    std::vector<std::pair<task_id, task_state>> ends;
    std::vector<std::pair<std::string, std::string>> ready;  // kinds and queues with new work
    bool has_changed_queues = false;
    std::uint64_t more = 0;  // changes that it does not tell
};

// One message, or several of at most node_channel::max_message bytes with the same head, numbered
// from message.number on.
std::vector<std::string> encode(const news_message& message);
// Empty if it is not a message of this version.
std::optional<news_message> decode(std::string_view text);

}  // namespace weir::service::detail
