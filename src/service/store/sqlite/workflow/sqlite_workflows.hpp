// SPDX-License-Identifier: MIT
// sqlite_workflows: dependencies and groups in a SQLite file, as part of its store.
#pragma once

#include "service/store/sqlite/store_calls.hpp"
#include "service/store/sqlite/submit.hpp"

#include <weir/service/workflow_store.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace weir::service::detail {

class sqlite_workflows final : public workflow_store {
public:
    // All belong to the store.
    sqlite_workflows(store_calls& calls, id_source& ids, std::size_t max_queues) noexcept
        : calls_(calls), ids_(ids), max_queues_(max_queues) {}

    task<workflow_result> submit(workflow flow, moment now) override;
    task<std::optional<group_record>> seal(group_id group, moment now) override;
    task<std::optional<group_record>> find(group_id group) override;
    task<std::vector<group_record>> list(group_query filter) override;
    task<std::vector<task_record>> members(group_id group, member_query query) override;
    task<change_result> cancel(group_id group, moment now) override;
    task<change_result> cancel_subtree(task_id root, moment now) override;

    // Continues what former transactions have left, until nothing is.
    task<> finish(moment now);

private:
    store_calls& calls_;
    id_source& ids_;
    std::size_t max_queues_;
};

}  // namespace weir::service::detail
