// SPDX-License-Identifier: MIT
// Without a clock of the user's, wall time is the time of day at the first use, moved on by the
// loop's clock: steps of the system clock cannot reorder records, and simulated time works.

#include "flow/jobs/task_journal.hpp"

#include <weir/loop.hpp>

namespace weir::detail {

wall_time task_journal::now() {
    if (wall_clock_) {
        return wall_clock_();
    }
    const clock::time_point now = weir::now();
    if (!first_use_.has_value()) {
        const bool is_simulated = loop::current().get_driver().is_simulated();
        first_use_.emplace(is_simulated ? wall_time() : std::chrono::system_clock::now(), now);
    }
    return first_use_->first + (now - first_use_->second);
}

void task_journal::publish(task_event_kind kind, const managed_task& task) {
    task_event made;
    made.kind = kind;
    made.id = task.id;
    made.name = task.name;
    made.at = now();
    made.progress = task.progress;
    made.message = kind == task_event_kind::failed || kind == task_event_kind::cancelled
                       ? task.error
                       : task.message;
    feed_->publish(std::move(made));
}

}  // namespace weir::detail
