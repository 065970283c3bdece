// SPDX-License-Identifier: MIT
// workflow_store: the part of a store that keeps dependencies and groups. It is part of the
// transactions of its store: whatever ends a task, by a settlement, a cancel, a rescue or a
// removal, tells its dependents and its group in the same transaction.
//
// Rules that every store keeps, and that tests/service/store checks:
// - A task with unmet dependencies is pending, and in no line of due tasks. It counts as pending.
// - A task that ends lowers the count of its group once. The change that lowers it to 0 in a sealed
//   group ends the group and creates the callback.
// - No task waits for one that cannot end: a dependency that is unknown, or is removed before it
//   has completed, decides at once, by its policy; with `hold` as with `cancel`.
// - A member that is retried counts again if its group has not ended, and never if it has.
// - The end of a task with many dependents, and the cancel of a large group or subtree, continue in
//   further transactions of a bounded size. Until then, no claim returns a member of a cancelled
//   group. Claims and rescues continue what a crash has interrupted.
// - Ended members stay until their group has ended, and their retention has passed since then.
#pragma once

#include <weir/service/store.hpp>
#include <weir/service/workflow.hpp>
#include <weir/task.hpp>

#include <optional>
#include <vector>

namespace weir::service {

class workflow_store {
public:
    // All tasks or none.
    virtual task<workflow_result> submit(workflow flow, moment now) = 0;
    // The group as it is then; empty: unknown. A sealed group stays as it is.
    virtual task<std::optional<group_record>> seal(group_id group, moment now) = 0;
    virtual task<std::optional<group_record>> find(group_id group) = 0;
    virtual task<std::vector<group_record>> list(group_query filter) = 0;  // the newest first
    // With their dependencies.
    virtual task<std::vector<task_record>> members(group_id group, member_query query) = 0;
    // Cancels all members that have not ended, and seals the group: done; requested while some are
    // running; no_change if it has ended or is being cancelled.
    virtual task<change_result> cancel(group_id group, moment now) = 0;
    // Cancels a task and, whatever their policies are, all tasks that wait for it. The result is
    // that of the task; done if only others were cancelled.
    virtual task<change_result> cancel_subtree(task_id root, moment now) = 0;

protected:
    ~workflow_store() = default;
};

}  // namespace weir::service
