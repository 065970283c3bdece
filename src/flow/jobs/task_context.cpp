// SPDX-License-Identifier: MIT
// Both contexts lead to the same live_task; the one for threads posts to its loop, and finds the
// task gone if it comes too late.

#include "flow/jobs/live_task.hpp"

#include <weir/error.hpp>
#include <weir/flow/task_context.hpp>
#include <weir/loop.hpp>

#include <cmath>

namespace weir {

task_context::task_context(std::shared_ptr<detail::live_task> task) noexcept
    : task_(std::move(task)) {}

const std::string& task_context::id() const noexcept {
    return task_->record.id;
}
const std::string& task_context::name() const noexcept {
    return task_->record.name;
}
void task_context::progress(double fraction, std::string_view message) {
    task_->progress(fraction, message);
}

blocking_context task_context::for_thread() const {
    blocking_context made;
    made.id_ = task_->record.id;
    made.task_ = task_;
    made.mail_ = loop::current().mail();
    made.stop_ = task_->stop_for_thread();
    return made;
}

void blocking_context::progress(double fraction, std::string_view message) const {
    if (std::isnan(fraction)) {
        throw invalid_argument("task '" + id_ + "': the progress is not a number");
    }
    detail::post_to(mail_, [weak_task = task_, fraction, message = std::string(message)] {
        if (const auto task = weak_task.lock()) {
            task->progress(fraction, message);
        }
    });
}

}  // namespace weir
