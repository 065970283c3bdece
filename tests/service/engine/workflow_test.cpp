// SPDX-License-Identifier: MIT
// Checks of workflows, and the counts of groups.

#include <weir/service/workflow.hpp>

#include <gtest/gtest.h>

namespace {

using namespace weir::service;

std::string refused_member(const workflow& flow) {
    try {
        check(flow);
    } catch (const invalid_value& error) {
        return error.member();
    }
    return "";
}

TEST(Workflow, TasksComeAfterEarlierOnes) {
    workflow flow;
    const dependency first = flow.add(new_task("a"));
    EXPECT_EQ(first.position, 0U);
    flow.add(new_task("b"), {first});
    EXPECT_EQ(refused_member(flow), "");
    dependency later;
    later.position = 2;
    flow.add(new_task("c"), {later});
    EXPECT_EQ(refused_member(flow), "after");
}

TEST(Workflow, LimitsAreKept) {
    workflow flow;
    flow.tasks.assign(max_workflow_tasks, new_task("a"));
    EXPECT_EQ(refused_member(flow), "");
    flow.tasks.emplace_back("a");
    EXPECT_EQ(refused_member(flow), "tasks");
    workflow wide;
    wide.add(new_task("a"), std::vector<dependency>(max_dependencies, dependency(task_id(1))));
    EXPECT_EQ(refused_member(wide), "");
    wide.tasks[0].after.emplace_back(task_id(2));
    EXPECT_EQ(refused_member(wide), "after");
    workflow two;
    two.add(new_task("a"),
            {dependency(task_id(1)).as_payload(), dependency(task_id(2)).as_payload()});
    EXPECT_EQ(refused_member(two), "payload_from");
}

TEST(Workflow, ACallbackTakesTheCountsOfItsGroup) {
    for (const char* const payload : {"null", "{}", R"({"a":1})", "[1]", "7"}) {
        workflow flow;
        flow.group.emplace().callback = new_task("report", payload);
        const bool is_valid = payload[0] != '[' && payload[0] != '7';
        EXPECT_EQ(refused_member(flow), is_valid ? "" : "callback") << payload;
    }
    workflow joined;
    joined.group.emplace();
    joined.join = group_id(1);
    EXPECT_EQ(refused_member(joined), "group");
}

TEST(Workflow, TheQueueOfAGroupIsThatOfItsCallback) {
    workflow flow;
    flow.group.emplace();
    EXPECT_EQ(queue_of(flow), "default");
    new_task member("a");
    member.queue = "members";
    flow.add(member);
    EXPECT_EQ(queue_of(flow), "members");
    flow.group->callback = new_task("report");
    flow.group->callback->queue = "reports";
    EXPECT_EQ(queue_of(flow), "reports");
    flow.group->queue = "own";
    EXPECT_EQ(queue_of(flow), "own");
}

TEST(Workflow, StatesHaveNames) {
    for (int i = 0; i < 5; ++i) {
        const auto state = static_cast<group_state>(i);
        EXPECT_EQ(parse_group_state(to_string(state)), state);
        EXPECT_EQ(is_final(state), i >= 2);
    }
    EXPECT_EQ(parse_group_state("done"), std::nullopt);
}

TEST(Workflow, AGroupIsHeldByItsFailures) {
    group_record group;
    group.is_sealed = true;
    group.total = 2;
    group.failed = 1;
    group.on_failure = failure_policy::hold;
    EXPECT_TRUE(group.is_held());
    EXPECT_EQ(group.completed(), 1U);
    group.open = 1;
    EXPECT_FALSE(group.is_held());
}

}  // namespace
