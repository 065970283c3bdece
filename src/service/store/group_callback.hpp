// SPDX-License-Identifier: MIT
// The task that the end of a group creates, and the texts of tasks that are cancelled because of
// others. All stores share them.
#pragma once

#include <weir/service/workflow.hpp>

#include <string>

namespace weir::service::detail {

// The callback of a group that has ended: its payload says how. With an error, the group's policy
// forbids that it runs: it is to be created and cancelled, with that error.
struct group_callback {
    new_task task;
    std::string error;
};
group_callback callback_of(new_task request, const group_record& ended);

// Whether nothing is left to happen in this group, and the state that it ends in.
bool has_ended(const group_record& group) noexcept;
group_state final_state(const group_record& group) noexcept;

// The error of a task that cannot run, as the task before it has ended so.
std::string upstream_error(task_id parent, dependency_outcome outcome);

// The dependency of a task, as `why` shows it.
std::string unmet_text(const dependency_record& unmet);

// What the end of a task means for a task that depends on it.
enum class verdict_on_child : unsigned char { released, waits, cancelled };
verdict_on_child verdict_for(failure_policy policy, dependency_outcome outcome) noexcept;

dependency_outcome outcome_of(task_state state) noexcept;

}  // namespace weir::service::detail
