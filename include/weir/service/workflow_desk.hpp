// SPDX-License-Identifier: MIT
// workflow_desk: the part of the service that submits workflows and changes groups.
//
//     const auto made = co_await tasks.workflows().submit(std::move(flow));
//     const auto group = co_await tasks.workflows().find(made.group);   // counts of its members
//
// Arguments are checked, and tasks that become claimable start at once. All functions throw
// store_unavailable; submit() throws invalid_value, and unknown_kind if a kind has no handler.
#pragma once

#include <weir/service/workflow.hpp>
#include <weir/task.hpp>

#include <optional>
#include <vector>

namespace weir::service {

class workflow_desk {
public:
    // All tasks or none: see workflow_result.
    virtual task<workflow_result> submit(workflow flow) = 0;
    // The group as it is then; empty: unknown.
    virtual task<std::optional<group_record>> seal(group_id group) = 0;
    virtual task<std::optional<group_record>> find(group_id group) = 0;
    virtual task<std::vector<group_record>> list(group_query filter) = 0;  // the newest first
    // With their dependencies, the oldest first.
    virtual task<std::vector<task_record>> members(group_id group, member_query query) = 0;
    // See workflow_store.
    virtual task<change_result> cancel(group_id group) = 0;
    virtual task<change_result> cancel_subtree(task_id root) = 0;

protected:
    ~workflow_desk() = default;
};

}  // namespace weir::service
