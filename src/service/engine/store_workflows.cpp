// SPDX-License-Identifier: MIT
// Runs of this process that a cancel concerns are stopped at once; other nodes learn of it by their
// heartbeats.

#include "service/engine/store_workflows.hpp"

#include <weir/service/workflow_store.hpp>

#include <chrono>
#include <utility>

namespace weir::service::detail {

namespace {

// A group of a million members is cancelled in many steps.
constexpr clock::duration group_cancel_limit = std::chrono::minutes(10);

}  // namespace

task<workflow_result> store_workflows::submit(workflow flow) {
    weir::service::check(flow);
    for (new_task& each : flow.tasks) {
        handlers_.prepare(each);
    }
    if (flow.group.has_value() && flow.group->callback.has_value()) {
        handlers_.prepare(*flow.group->callback);
    }
    traced_submit traced(traces_, flow.tasks);
    workflow_result result =
        co_await store_.write(store_->workflows().submit(std::move(flow), time_.moment_now()));
    if (result.what == workflow_result::verdict::made) {
        traced.end(result.tasks);
        for (const submit_result& each : result.tasks) {
            submitted_ += each.what == submit_result::verdict::made ? 1 : 0;
        }
        trigger_.claim_now();
    }
    co_return result;
}

task<std::vector<submit_result>> store_workflows::submit_together(std::vector<new_task> tasks) {
    workflow flow;
    flow.tasks = std::move(tasks);
    const std::size_t count = flow.tasks.size();
    const workflow_result made = co_await submit(std::move(flow));
    if (made.what == workflow_result::verdict::made) {
        co_return made.tasks;
    }
    co_return std::vector<submit_result>(count, made.tasks.at(made.refused));
}

task<std::optional<group_record>> store_workflows::seal(group_id group) {
    std::optional<group_record> sealed =
        co_await store_.write(store_->workflows().seal(group, time_.moment_now()));
    trigger_.claim_now();  // the end of the group may have created its callback
    co_return sealed;
}

task<std::optional<group_record>> store_workflows::find(group_id group) {
    return store_.call(store_->workflows().find(group));
}

task<std::vector<group_record>> store_workflows::list(group_query filter) {
    return store_.call(store_->workflows().list(filter));
}

task<std::vector<task_record>> store_workflows::members(group_id group, member_query query) {
    return store_.call(store_->workflows().members(group, query));
}

task<change_result> store_workflows::cancel(group_id group) {
    const change_result result = co_await store_.write_within(
        group_cancel_limit, store_->workflows().cancel(group, time_.moment_now()));
    if (result == change_result::requested) {
        co_await stop_cancelled();
    }
    trigger_.claim_now();
    co_return result;
}

task<change_result> store_workflows::cancel_subtree(task_id root) {
    const change_result result = co_await store_.write_within(
        group_cancel_limit, store_->workflows().cancel_subtree(root, time_.moment_now()));
    co_await stop_cancelled();
    trigger_.claim_now();
    co_return result;
}

task<> store_workflows::stop_cancelled() {
    task_filter cancelling;
    cancelling.view = task_view::cancelling;
    cancelling.limit = max_workflow_tasks;
    cancelling.is_brief = true;
    const task_page found = co_await store_.call(store_->list(cancelling, time_.now()));
    for (const task_record& each : found) {
        claims_.note_cancelled(each.id);
        runs_.cancel(each.id);
    }
}

}  // namespace weir::service::detail
