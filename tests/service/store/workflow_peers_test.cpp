// SPDX-License-Identifier: MIT
// What went wrong with workflows in other systems: callbacks that came never, twice or too early,
// and tasks that waited for what could not end. Each test names the report.

#include "workflows.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(WorkflowPeers);

// ---- the callback never comes

// celery#9674, celery#6029: a chord waits forever when a task of a chain in it fails.
WEIR_STORE_TEST(WorkflowPeers, AChainThatFailsInAGroupEndsTheGroup) {
    flow_bench use(at);
    workflow flow;
    const dependency first = flow.add(named("first"));
    const dependency second = flow.add(named("second"), {first});
    flow.add(named("third"), {second});
    flow.group = with_callback(failure_policy::run);
    const workflow_result made = co_await use.submit(flow);
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle(runs, task_state::failed);
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::failed);
    EXPECT_EQ(ended.failed, 1U);
    EXPECT_EQ(ended.cancelled, 2U);
    const std::vector<std::string> rest = co_await use.run_all();
    EXPECT_EQ(rest, std::vector<std::string>{"callback"});
}

// celery#1700: the submit of a chord is interrupted half-way.
WEIR_STORE_TEST(WorkflowPeers, ASubmitThatFailsHalfWayLeavesNothing) {
    flow_bench use(at);
    new_task keyed = named("keyed");
    keyed.idempotency_key = "taken";
    keyed.payload = "1";
    co_await at.submit(keyed);
    workflow flow = fan_out(5);
    keyed.payload = "2";
    flow.add(keyed);
    const workflow_result refused = co_await use.submit(flow);
    EXPECT_EQ(refused.what, verdict::refused);
    EXPECT_EQ(refused.tasks.at(refused.refused).what, submit_result::verdict::conflict);
    const std::vector<task_record> members = co_await use.all("member");
    EXPECT_TRUE(members.empty());
    const auto groups = co_await use.flows().list(group_query());
    EXPECT_TRUE(groups.empty());
}

// laravel#37948: the counter is lost to a failed lock. solid_queue PR 142: checks after the commit
// miss each other. Here the last members end in transactions of several nodes.
WEIR_STORE_TEST(WorkflowPeers, MembersThatEndOnSeveralNodesAreCountedOnce) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(40));
    std::vector<std::pair<std::string, task_record>> runs;
    for (const char* const node : {"a", "b", "c", "d"}) {
        const std::vector<task_record> some = co_await use.claim(10, node);
        for (const task_record& each : some) {
            runs.emplace_back(node, each);
        }
    }
    EXPECT_EQ(runs.size(), 40U);
    for (int repeated = 0; repeated < 2; ++repeated) {
        for (const auto& [node, run] : runs) {
            const bool is_written =
                co_await at.settle(bench::ending(run, task_state::completed), node);
            EXPECT_EQ(is_written, repeated == 0);
        }
    }
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::completed);
    const std::vector<task_record> callbacks = co_await use.all("callback");
    EXPECT_EQ(callbacks.size(), 1U);
}

// bullmq#1752: a failed child is removed, and its parent waits forever.
WEIR_STORE_TEST(WorkflowPeers, ARemovedMemberDoesNotKeepTheGroupOpen) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(1, failure_policy::hold));
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle(runs, task_state::failed);
    const group_record held = co_await use.group(made.group);
    EXPECT_TRUE(held.is_held());
    const change_result removed = co_await at.kept->remove_task(runs[0].id, at.now);
    EXPECT_EQ(removed, change_result::done);
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::failed);
    EXPECT_TRUE(ended.callback_task);
}

// bullmq PR 2526, PR 3098: a child that stalled, or failed while its parent was active.
WEIR_STORE_TEST(WorkflowPeers, ACrashedMemberEndsItsGroup) {
    flow_bench use(at);
    workflow flow = fan_out(1, failure_policy::run);
    flow.add(named("after"), {[] {
                 dependency first;
                 first.position = 0;
                 return first;
             }()});
    const workflow_result made = co_await use.submit(flow);
    for (int crash = 0; crash < 3; ++crash) {
        const std::string node = "n" + std::to_string(crash);
        const std::vector<task_record> runs = co_await use.claim(1, node);
        EXPECT_EQ(runs.size(), 1U);
        co_await at.kept->retire(node);
        co_await at.kept->rescue(at.now, 3);
    }
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.failed, 1U);
    EXPECT_EQ(ended.cancelled, 1U);
    EXPECT_EQ(ended.state, group_state::failed);
    EXPECT_TRUE(ended.callback_task);
}

// bullmq#3362, bullmq#3122: by default, the parent of a failed child waits forever.
WEIR_STORE_TEST(WorkflowPeers, TheDefaultPolicyEndsWhatDependsOnAFailure) {
    flow_bench use(at);
    workflow flow;
    const dependency child = flow.add(named("child"));
    flow.add(named("parent"), {child});
    const workflow_result made = co_await use.submit(flow);
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle(runs, task_state::failed);
    const task_record parent = co_await at.look(made.tasks[1].id);
    EXPECT_EQ(parent.state, task_state::cancelled);
    EXPECT_NE(parent.error.find("has failed"), std::string::npos);
}

// ---- the callback comes twice

// machinery#30, good_job#832: each of the last members sees that it is the last.
WEIR_STORE_TEST(WorkflowPeers, MembersThatEndInOneBatchCreateOneCallback) {
    flow_bench use(at);
    co_await use.submit(fan_out(50));
    const std::vector<task_record> runs = co_await use.claim();
    co_await at.complete(runs);
    const std::vector<task_record> callbacks = co_await use.all("callback");
    EXPECT_EQ(callbacks.size(), 1U);
}

// laravel PR 47584: a member that is retried twice lowers the counter below zero.
WEIR_STORE_TEST(WorkflowPeers, ARetriedMemberIsCountedOnce) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(3, failure_policy::run));
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle_one(runs[0], task_state::failed);
    for (int i = 0; i < 3; ++i) {
        const change_result retried = co_await at.kept->retry(runs[0].id, at.now);
        EXPECT_EQ(retried, change_result::done);
        const group_record open = co_await use.group(made.group);
        EXPECT_EQ(open.open, 3U);
        EXPECT_EQ(open.failed, 0U);
        const std::vector<task_record> again = co_await use.claim();
        co_await use.settle(again, task_state::failed);
    }
    co_await use.settle_one(runs[1], task_state::completed);
    co_await use.settle_one(runs[2], task_state::completed);
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::failed);
    co_await use.run_all();
    // Once the group has ended, retries count no more.
    for (int i = 0; i < 2; ++i) {
        const change_result late = co_await at.kept->retry(runs[0].id, at.now);
        EXPECT_EQ(late, change_result::done);
        const std::vector<task_record> again = co_await use.claim();
        EXPECT_EQ(again.size(), 1U);
        co_await use.settle(again, task_state::failed);
    }
    const group_record same = co_await use.group(made.group);
    EXPECT_EQ(same.failed, 1U);
    EXPECT_EQ(same.open, 0U);
    const std::vector<task_record> callbacks = co_await use.all("callback");
    EXPECT_EQ(callbacks.size(), 1U);
}

// laravel#38804: a callback that adds members to its group loops.
WEIR_STORE_TEST(WorkflowPeers, ACallbackCannotAddMembersToItsGroup) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(1));
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle(runs, task_state::completed);
    const std::vector<task_record> callback = co_await use.claim();
    workflow more;
    more.join = made.group;
    more.from = {callback.at(0).id, callback.at(0).run};
    more.add(named("late"));
    const workflow_result refused = co_await use.submit(more);
    EXPECT_EQ(refused.what, verdict::group_closed);
    const std::vector<task_record> late = co_await use.all("late");
    EXPECT_TRUE(late.empty());
}

// celery#3538: nested chords fire twice, or hang. Here a member creates a group of its own, and
// adds a task that comes after it to its own group.
WEIR_STORE_TEST(WorkflowPeers, NestedGroupsEndEachOnce) {
    flow_bench use(at);
    const workflow_result outer = co_await use.submit(fan_out(1));
    const std::vector<task_record> member = co_await use.claim();
    workflow inner = fan_out(3);
    inner.group->callback = new_task("inner callback");
    const workflow_result nested = co_await use.submit(inner);
    workflow more;
    more.join = outer.group;
    more.from = {member.at(0).id, member.at(0).run};
    more.add(named("joined"));
    const workflow_result joined = co_await use.submit(more);
    EXPECT_EQ(joined.what, verdict::made);
    co_await use.settle(member, task_state::completed);
    const std::vector<std::string> rest = co_await use.run_all();
    EXPECT_EQ(rest.size(), 6U);
    for (const group_id each : {outer.group, nested.group}) {
        const group_record ended = co_await use.group(each);
        EXPECT_EQ(ended.state, group_state::completed);
    }
    const std::vector<task_record> callbacks = co_await use.all("callback");
    EXPECT_EQ(callbacks.size(), 1U);
    const std::vector<task_record> inner_callbacks = co_await use.all("inner callback");
    EXPECT_EQ(inner_callbacks.size(), 1U);
}

// ---- the callback comes too early

// sidekiq-batch PR 69, sidekiq#6110: members are done before all were added.
WEIR_STORE_TEST(WorkflowPeers, AnOpenGroupWaitsForItsSeal) {
    flow_bench use(at);
    workflow flow;
    flow.group = with_callback();
    flow.group->is_sealed = false;
    const workflow_result made = co_await use.submit(flow);
    for (int i = 0; i < 3; ++i) {
        workflow more;
        more.join = made.group;
        more.add(named("member"));
        const workflow_result added = co_await use.submit(more);
        EXPECT_EQ(added.what, verdict::made);
        const std::vector<std::string> ran = co_await use.run_all();
        EXPECT_EQ(ran, std::vector<std::string>{"member"});
    }
    const group_record open = co_await use.group(made.group);
    EXPECT_EQ(open.state, group_state::open);
    const std::optional<group_record> sealed = co_await use.flows().seal(made.group, at.now);
    EXPECT_EQ(sealed->state, group_state::completed);
    workflow late;
    late.join = made.group;
    late.add(named("member"));
    const workflow_result refused = co_await use.submit(late);
    EXPECT_EQ(refused.what, verdict::group_closed);
    const std::optional<group_record> again = co_await use.flows().seal(made.group, at.now);
    EXPECT_EQ(again->total, 3U);
    const std::vector<task_record> callbacks = co_await use.all("callback");
    EXPECT_EQ(callbacks.size(), 1U);
}

// The same within one submit: the first member cannot run, and the others follow.
WEIR_STORE_TEST(WorkflowPeers, AMemberThatIsCancelledAtOnceDoesNotEndTheGroup) {
    flow_bench use(at);
    workflow flow;
    flow.add(named("doomed"), {dependency(task_id(4711))});
    flow.add(named("member"));
    flow.group = with_callback(failure_policy::run);
    const workflow_result made = co_await use.submit(flow);
    const group_record open = co_await use.group(made.group);
    EXPECT_EQ(open.state, group_state::open);
    EXPECT_EQ(open.cancelled, 1U);
    const std::vector<std::string> ran = co_await use.run_all();
    EXPECT_EQ(ran, (std::vector<std::string>{"member", "callback"}));
}

// sidekiq#5290: the callback of the parent comes before that of its child. A running member keeps
// its group open while it adds to it; another run of the same task cannot.
WEIR_STORE_TEST(WorkflowPeers, ARunningMemberKeepsTheGroupOpen) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(1));
    const std::vector<task_record> runs = co_await use.claim();
    workflow more;
    more.join = made.group;
    more.add(named("member"));
    const workflow_result refused = co_await use.submit(more);
    EXPECT_EQ(refused.what, verdict::group_closed);
    more.from = {runs[0].id, runs[0].run + 1};
    const workflow_result other = co_await use.submit(more);
    EXPECT_EQ(other.what, verdict::group_closed);
    more.from = {runs[0].id, runs[0].run};
    const workflow_result added = co_await use.submit(more);
    EXPECT_EQ(added.what, verdict::made);
    co_await use.settle(runs, task_state::completed);
    const group_record open = co_await use.group(made.group);
    EXPECT_EQ(open.open, 1U);
    EXPECT_EQ(open.total, 2U);
    co_await use.run_all();
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::completed);
}

// ---- empty groups, purged and removed tasks

// sidekiq#3050, sidekiq#5455, oban#1342: the callback of an empty group never comes.
WEIR_STORE_TEST(WorkflowPeers, AnEmptyGroupCreatesItsCallback) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(0));
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::completed);
    const std::vector<std::string> ran = co_await use.run_all();
    EXPECT_EQ(ran, std::vector<std::string>{"callback"});
    // An open one does when it is sealed, and when it is cancelled.
    for (const bool is_sealed : {true, false}) {
        workflow flow = fan_out(0);
        flow.group->is_sealed = false;
        const workflow_result open = co_await use.submit(flow);
        if (is_sealed) {
            co_await use.flows().seal(open.group, at.now);
        } else {
            co_await use.flows().cancel(open.group, at.now);
        }
        const std::vector<std::string> later = co_await use.run_all();
        EXPECT_EQ(later, std::vector<std::string>{"callback"});
    }
}

// oban#722: a workflow whose upstream was purged can never end.
WEIR_STORE_TEST(WorkflowPeers, APurgedUpstreamHasLeftItsOutcome) {
    flow_bench use(at);
    workflow flow;
    const dependency early = flow.add(named("early"));
    const dependency slow = flow.add(named("slow"));
    flow.add(named("child"), {early, slow});
    const workflow_result made = co_await use.submit(flow);
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle_one(runs[0], task_state::completed);
    at.now += 1h;
    const std::size_t purged = co_await at.kept->purge({10s, 20s, 5s, 3s}, at.now);
    EXPECT_EQ(purged, 1U);
    co_await use.settle_one(runs[1], task_state::completed);
    const std::vector<std::string> rest = co_await use.run_all();
    EXPECT_EQ(rest, std::vector<std::string>{"child"});
    // Dependents that come later find that it is gone.
    workflow later;
    later.add(named("late"), {dependency(made.tasks[0].id)});
    const workflow_result more = co_await use.submit(later);
    const task_record late = co_await at.look(more.tasks[0].id);
    EXPECT_EQ(late.state, task_state::cancelled);
    EXPECT_NE(late.error.find("does not exist any more"), std::string::npos);
}

// khive#1473, OCA/queue#531: dependents of a cancelled or deleted task are silent forever.
WEIR_STORE_TEST(WorkflowPeers, DependentsOfACancelledTaskSayWhy) {
    flow_bench use(at);
    workflow flow;
    const dependency first = flow.add(named("first"));
    flow.add(named("second"), {first});
    const workflow_result made = co_await use.submit(flow);
    const auto before = co_await at.kept->why(made.tasks[1].id, at.now);
    EXPECT_EQ(before.at(0).why, hold::reason::waits_for);
    EXPECT_NE(before.at(0).detail.find(made.tasks[0].id.text()), std::string::npos);
    bulk_change change;
    change.action = task_action::cancel;
    change.ids.push_back(made.tasks[0].id);
    co_await at.kept->change_tasks(change, at.now);
    const task_record second = co_await at.look(made.tasks[1].id);
    EXPECT_EQ(second.error,
              "the task " + made.tasks[0].id.text() + ", which it comes after, was cancelled");
}

// bullmq#1899: the callbacks of millions of groups queue behind their members. A callback is
// created when its group ends, and takes no room before.
WEIR_STORE_TEST(WorkflowPeers, ACallbackTakesNoRoomBeforeItIsCreated) {
    flow_bench use(at);
    queue_limits limits;
    limits.max_pending = 1;
    co_await at.kept->limit("callbacks", limits);
    for (int i = 0; i < 3; ++i) {
        workflow flow = fan_out(1);
        flow.group->callback->queue = "callbacks";
        const workflow_result made = co_await use.submit(flow);
        EXPECT_EQ(made.what, verdict::made);
    }
    const std::vector<task_record> members = co_await use.claim(3);
    co_await use.settle(members, task_state::completed);
    const queue_record queue = co_await at.queue("callbacks");
    EXPECT_EQ(queue.count(task_state::pending), 3U);  // created even if the queue is full
}

// A client's task has the key that a callback gets.
WEIR_STORE_TEST(WorkflowPeers, AKeyThatIsTakenDoesNotStopTheCallback) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(1));
    new_task thief = named("thief");
    thief.idempotency_key = "group/" + made.group.text();
    co_await at.submit(thief);
    const std::vector<std::string> ran = co_await use.run_all();
    EXPECT_EQ(ran.size(), 3U);
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::completed);
}

}  // namespace
