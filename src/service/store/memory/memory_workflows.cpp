// SPDX-License-Identifier: MIT
// Each operation is one function on the tables, as the others of the store are.

#include "service/store/memory/memory_workflows.hpp"

#include "service/store/memory/memory_tables.hpp"

#include <utility>

namespace weir::service {

task<workflow_result> memory_store::workflow_calls::submit(workflow flow, moment now) {
    return owner_.perform(store_call::submit_workflow, [flow = std::move(flow), now](tables& in) {
        return in.graph.submit(in.tasks, flow, now);
    });
}

task<std::optional<group_record>> memory_store::workflow_calls::seal(group_id group, moment now) {
    return owner_.perform(store_call::seal_group,
                          [group, now](tables& in) { return in.graph.seal(in.tasks, group, now); });
}

task<std::optional<group_record>> memory_store::workflow_calls::find(group_id group) {
    return owner_.perform(store_call::find_group,
                          [group](tables& in) { return in.graph.find(group); });
}

task<std::vector<group_record>> memory_store::workflow_calls::list(group_query filter) {
    return owner_.perform(store_call::groups,
                          [filter](tables& in) { return in.graph.list(filter); });
}

task<std::vector<task_record>> memory_store::workflow_calls::members(group_id group,
                                                                     member_query query) {
    return owner_.perform(store_call::group_members, [group, query](tables& in) {
        return in.graph.members(in.tasks, group, query);
    });
}

task<change_result> memory_store::workflow_calls::cancel(group_id group, moment now) {
    return owner_.perform(store_call::cancel_group, [group, now](tables& in) {
        return in.graph.cancel(in.tasks, group, now);
    });
}

task<change_result> memory_store::workflow_calls::cancel_subtree(task_id root, moment now) {
    return owner_.perform(store_call::cancel_subtree, [root, now](tables& in) {
        return in.graph.cancel_subtree(in.tasks, root, now);
    });
}

}  // namespace weir::service
