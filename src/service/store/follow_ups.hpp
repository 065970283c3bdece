// SPDX-License-Identifier: MIT
// follow_ups: the tasks that the end of a task creates. A store submits them in the transaction
// that ends the task, so that none is lost and none is created twice.
#pragma once

#include <weir/service/task.hpp>

#include <cstddef>
#include <vector>

namespace weir::service::detail {

// A longer result is left out of the body of a callback.
constexpr std::size_t max_callback_result = 64 * 1024;

// Whether tasks like this one may create others when they end.
inline bool has_follow_ups(const new_task& task) noexcept {
    return task.on_success.is_set() || task.on_failure.is_set();
}

// `ended` is the task as the transaction leaves it. The tasks are to be created even if their queue
// is full.
std::vector<new_task> follow_ups_of(const task_record& ended);

}  // namespace weir::service::detail
