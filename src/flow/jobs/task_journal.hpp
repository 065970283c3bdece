// SPDX-License-Identifier: MIT
// task_journal: the time that records carry, and the events that a task manager publishes.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/task_events.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace weir::detail {

class task_journal {
public:
    task_journal(const hook<wall_time()>& wall_clock, std::size_t event_history)
        : wall_clock_(wall_clock), feed_(std::make_shared<event_feed>(event_history)) {}

    wall_time now();
    void publish(task_event_kind kind, const managed_task& task);
    void close() { feed_->close(); }
    // From the event after `seen`; empty: from now on.
    task_events subscribe(std::optional<std::uint64_t> seen) const {
        return task_events(feed_, seen.value_or(feed_->last()));
    }

private:
    hook<wall_time()> wall_clock_;
    std::optional<std::pair<wall_time, clock::time_point>> first_use_;
    std::shared_ptr<event_feed> feed_;  // shared with the subscribers, which may outlive it
};

}  // namespace weir::detail
