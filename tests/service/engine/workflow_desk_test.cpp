// SPDX-License-Identifier: MIT
// Workflows through the service: tasks start as soon as those before them have ended.

#include "support.hpp"

#include <weir/service/workflow_desk.hpp>

namespace weir::service::testing {

namespace {

using namespace std::chrono_literals;

WEIR_TEST(WorkflowDesk, AChainNeedsNoPolls) {
    memory_store store;
    service_options options;
    options.poll = 1h;
    service tasks(store, options);
    std::vector<std::string> order;
    for (const char* const kind : {"extract", "load", "report"}) {
        tasks.handle(kind, [&order, kind](job&) -> task<boost::json::value> {
            order.emplace_back(kind);
            co_return kind;
        });
    }
    const handle<void> running = spawn(tasks.run());
    workflow flow;
    const dependency extract = flow.add(new_task("extract"));
    flow.add(new_task("load"), {extract.as_payload()});
    flow.group.emplace().callback = new_task("report");
    const workflow_result made = co_await tasks.workflows().submit(std::move(flow));
    EXPECT_EQ(made.what, workflow_result::verdict::made);
    co_await weir::testing::advance(1s);
    EXPECT_EQ(order, (std::vector<std::string>{"extract", "load", "report"}));
    const std::optional<group_record> group = co_await tasks.workflows().find(made.group);
    EXPECT_EQ(group->state, group_state::completed);
    EXPECT_EQ(tasks.stats().submitted, 2U);
    const std::optional<task_detail> load = co_await tasks.find(made.tasks[1].id);
    EXPECT_EQ(load->task.payload, "\"extract\"");
    running.cancel();
    co_await running.wait();
}

WEIR_TEST(WorkflowDesk, InvalidTasksAreRefusedBeforeTheStore) {
    memory_store store;
    service tasks(store);
    tasks.handle("known", [](job&) -> task<boost::json::value> { co_return nullptr; });
    workflow flow;
    flow.add(new_task("known"));
    flow.add(new_task("unknown"));
    WEIR_EXPECT_THROW(tasks.workflows().submit(flow), unknown_kind);
    workflow group;
    group.group.emplace().callback = new_task("unknown");
    WEIR_EXPECT_THROW(tasks.workflows().submit(group), unknown_kind);
    const std::vector<group_record> none = co_await tasks.workflows().list(group_query());
    EXPECT_TRUE(none.empty());
}

// submit() of the service takes dependencies, too.
WEIR_TEST(WorkflowDesk, TasksWithDependenciesAreSubmittedTogether) {
    memory_store store;
    service tasks(store);
    tasks.handle("known", [](job&) -> task<boost::json::value> { co_return nullptr; });
    const submit_result first = co_await tasks.submit(new_task("known"));
    new_task second("known");
    second.after.emplace_back(first.id);
    const submit_result made = co_await tasks.submit(second);
    const std::optional<task_detail> found = co_await tasks.find(made.id);
    EXPECT_EQ(found->task.waits, 1U);
    const change_result cancelled = co_await tasks.workflows().cancel_subtree(first.id);
    EXPECT_EQ(cancelled, change_result::done);
    const std::optional<task_detail> after = co_await tasks.find(made.id);
    EXPECT_EQ(after->task.state, task_state::cancelled);
}

}  // namespace

}  // namespace weir::service::testing
