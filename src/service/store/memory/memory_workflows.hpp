// SPDX-License-Identifier: MIT
// memory_store::workflow_calls: the workflow_store of a memory_store.
#pragma once

#include <weir/service/memory_store.hpp>
#include <weir/service/workflow_store.hpp>

#include <optional>
#include <vector>

namespace weir::service {

class memory_store::workflow_calls final : public workflow_store {
public:
    // Is part of it.
    explicit workflow_calls(memory_store& owner) noexcept : owner_(owner) {}

    task<workflow_result> submit(workflow flow, moment now) override;
    task<std::optional<group_record>> seal(group_id group, moment now) override;
    task<std::optional<group_record>> find(group_id group) override;
    task<std::vector<group_record>> list(group_query filter) override;
    task<std::vector<task_record>> members(group_id group, member_query query) override;
    task<change_result> cancel(group_id group, moment now) override;
    task<change_result> cancel_subtree(task_id root, moment now) override;

private:
    memory_store& owner_;
};

}  // namespace weir::service
