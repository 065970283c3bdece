// SPDX-License-Identifier: MIT
// Collects the changes of this process that others want to hear of, until the next message. Its
// memory is bounded: what is too much is only counted.
#pragma once

#include "service/cluster/news_message.hpp"

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <unordered_map>

namespace weir::service::detail {

class news_collector {
public:
    // Tells kinds that workers run from those that have a handler here.
    explicit news_collector(std::function<bool(std::string_view kind)> is_remote)
        : is_remote_(std::move(is_remote)) {}

    // Whether there is something to tell now.
    bool add(std::span<const task_event> events, const news_interest& wanted);
    void queue_changed() noexcept { found_.has_changed_queues = true; }
    bool is_empty() const noexcept;
    // Moves what was collected into a message.
    void take(news_message& to);

    static constexpr std::size_t max_events = 50;  // of tasks that nobody has named
    static constexpr std::size_t max_named_events = 200;
    static constexpr std::size_t max_ends = 1500;
    static constexpr std::size_t max_ready = 50;
    static constexpr std::size_t max_cancelling = 500;

private:
    void add_event(const task_event& event, const news_interest& wanted);

    std::function<bool(std::string_view)> is_remote_;
    news_message found_;
    std::unordered_map<std::int64_t, std::size_t> places_;  // in found_.events
    std::size_t named_ = 0;
    std::set<std::pair<std::string, std::string>> ready_;
};

}  // namespace weir::service::detail
