// SPDX-License-Identifier: MIT
// Dependencies and groups, by the rules that workflow_store.hpp lists.

#include "workflows.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(Workflows);

// ---- dependencies

WEIR_STORE_TEST(Workflows, AChainRunsInItsOrder) {
    flow_bench use(at);
    workflow flow;
    const dependency first = flow.add(named("first"));
    const dependency second = flow.add(named("second"), {first});
    flow.add(named("third"), {second});
    const workflow_result made = co_await use.submit(flow);
    EXPECT_EQ(made.what, verdict::made);
    EXPECT_FALSE(made.group);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::pending), 3U);
    EXPECT_EQ(queue.due, 1U);
    const task_record waiting = co_await at.look(made.tasks[2].id);
    EXPECT_EQ(view_of(waiting, at.now), task_view::waiting);
    EXPECT_EQ(waiting.waits, 1U);
    const std::vector<std::string> order = co_await use.run_all();
    EXPECT_EQ(order, (std::vector<std::string>{"first", "second", "third"}));
}

WEIR_STORE_TEST(Workflows, AFanInWaitsForAllItsParents) {
    flow_bench use(at);
    workflow flow;
    std::vector<dependency> parents;
    for (int i = 0; i < 5; ++i) {
        parents.push_back(flow.add(named("parent")));
    }
    flow.add(named("child"), parents);
    const workflow_result made = co_await use.submit(flow);
    const std::vector<task_record> runs = co_await use.claim();
    EXPECT_EQ(runs.size(), 5U);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const task_record child = co_await at.look(made.tasks[5].id);
        EXPECT_EQ(child.waits, 5 - i);
        co_await use.settle_one(runs[i], task_state::completed);
    }
    const std::vector<task_record> last = co_await use.claim();
    EXPECT_EQ(last.size(), 1U);
    EXPECT_EQ(last.at(0).id, made.tasks[5].id);
    EXPECT_EQ(last.at(0).parents.size(), 5U);
    EXPECT_EQ(last.at(0).parents.at(0).outcome, dependency_outcome::completed);
}

// Parents that end in one batch release the child once.
WEIR_STORE_TEST(Workflows, ParentsThatEndTogetherReleaseTheChild) {
    flow_bench use(at);
    workflow flow;
    const dependency one = flow.add(named("parent"));
    const dependency other = flow.add(named("parent"));
    flow.add(named("child"), {one, other});
    co_await use.submit(flow);
    const std::vector<task_record> runs = co_await use.claim();
    co_await at.complete(runs);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.due, 1U);
}

// A failed or cancelled parent, by each policy.
WEIR_STORE_TEST(Workflows, ThePolicyDecidesAboutDependentsOfAFailedTask) {
    flow_bench use(at);
    for (const task_state end : {task_state::failed, task_state::cancelled}) {
        workflow flow;
        const dependency parent = flow.add(named("parent"));
        flow.add(named("after"), {parent});
        flow.add(named("anyway"), {parent.with(failure_policy::run)});
        flow.add(named("later"), {parent.with(failure_policy::hold)});
        const workflow_result made = co_await use.submit(flow);
        const std::vector<task_record> runs = co_await use.claim();
        co_await use.settle(runs, end);
        const task_record cancelled = co_await at.look(made.tasks[1].id);
        EXPECT_EQ(cancelled.state, task_state::cancelled);
        EXPECT_NE(cancelled.error.find(made.tasks[0].id.text()), std::string::npos);
        const task_record anyway = co_await at.look(made.tasks[2].id);
        EXPECT_EQ(view_of(anyway, at.now), task_view::pending);
        const task_record held = co_await at.look(made.tasks[3].id);
        EXPECT_EQ(view_of(held, at.now), task_view::waiting);
        const auto why = co_await at.why(held.id);
        EXPECT_EQ(why.at(0), hold::reason::waits_for);
        // The cancelled one cannot run either, as long as its parent has not completed.
        const change_result refused = co_await at.kept->retry(cancelled.id, at.now);
        EXPECT_EQ(refused, change_result::no_change);
        // A retry of the parent lets the held one run.
        const change_result retried = co_await at.kept->retry(made.tasks[0].id, at.now);
        EXPECT_EQ(retried, change_result::done);
        const std::vector<std::string> order = co_await use.run_all();
        EXPECT_EQ(order.size(), 3U);
        EXPECT_EQ(order.back(), "later");
        const change_result now = co_await at.kept->retry(cancelled.id, at.now);
        EXPECT_EQ(now, change_result::done);
        const std::vector<std::string> rest = co_await use.run_all();
        EXPECT_EQ(rest, std::vector<std::string>{"after"});
    }
}

WEIR_STORE_TEST(Workflows, ARedriveOfTheParentLetsHeldTasksRun) {
    flow_bench use(at);
    workflow flow;
    const dependency parent = flow.add(named("parent"));
    flow.add(named("later"), {parent.with(failure_policy::hold)});
    co_await use.submit(flow);
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle(runs, task_state::failed);
    const std::size_t driven = co_await at.kept->redrive(task_filter(), at.now);
    EXPECT_EQ(driven, 1U);
    const std::vector<std::string> order = co_await use.run_all();
    EXPECT_EQ(order, (std::vector<std::string>{"parent", "later"}));
}

WEIR_STORE_TEST(Workflows, ACancelledTaskCancelsTheWholeChainBehindIt) {
    flow_bench use(at);
    workflow flow;
    dependency last = flow.add(named("link"));
    for (int i = 0; i < 20; ++i) {
        last = flow.add(named("link"), {last});
    }
    const workflow_result made = co_await use.submit(flow);
    const change_result result = co_await at.kept->cancel(made.tasks[0].id, at.now);
    EXPECT_EQ(result, change_result::done);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::cancelled), 21U);
}

// Parents that are known already: completed, failed, unknown.
WEIR_STORE_TEST(Workflows, KnownParentsDecideAtOnce) {
    flow_bench use(at);
    const std::vector<task_id> known = co_await at.submit_many(2);
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle_one(runs[0], task_state::completed);
    co_await use.settle_one(runs[1], task_state::failed);
    const dependency done(known[0]);
    const dependency failed(known[1]);
    const dependency unknown(task_id(12345));
    workflow flow;
    flow.add(named("a"), {done});
    flow.add(named("b"), {failed});
    flow.add(named("c"), {failed.with(failure_policy::run)});
    flow.add(named("d"), {failed.with(failure_policy::hold)});
    flow.add(named("e"), {unknown});
    flow.add(named("f"), {unknown.with(failure_policy::run)});
    flow.add(named("g"), {unknown.with(failure_policy::hold)});
    flow.add(named("h"), {done, unknown.with(failure_policy::run)});
    const workflow_result made = co_await use.submit(flow);
    std::string views;
    for (const submit_result& each : made.tasks) {
        const task_record found = co_await at.look(each.id);
        views += std::string(to_string(view_of(found, at.now))) + " ";
    }
    EXPECT_EQ(views, "pending cancelled pending waiting cancelled pending cancelled pending ");
}

WEIR_STORE_TEST(Workflows, TheResultOfAParentBecomesThePayload) {
    flow_bench use(at);
    workflow flow;
    const dependency one = flow.add(named("one"));
    const dependency other = flow.add(named("other"));
    flow.add(named("child"), {one.as_payload(), other});
    const workflow_result made = co_await use.submit(flow);
    for (const char* const result : {"[\"short\"]", "long"}) {
        std::vector<task_record> runs = co_await use.claim();
        EXPECT_FALSE(runs.empty());
        for (const task_record& each : runs) {
            settlement end = bench::ending(each, task_state::completed);
            end.result = each.kind == "one" ? '"' + std::string(5000, 'x') + '"' : result;
            co_await at.settle(end);
        }
    }
    const task_record child = co_await at.look(made.tasks[2].id);
    EXPECT_EQ(child.payload.size(), 5002U);
    // Of a parent that has ended before.
    workflow later;
    later.add(named("late"), {dependency(made.tasks[1].id).as_payload()});
    const workflow_result more = co_await use.submit(later);
    const task_record late = co_await at.look(more.tasks[0].id);
    EXPECT_EQ(late.payload, "[\"short\"]");
}

WEIR_STORE_TEST(Workflows, ATimeToRunAtCountsAfterTheDependencies) {
    flow_bench use(at);
    workflow flow;
    const dependency parent = flow.add(named("parent"));
    new_task later = named("child");
    later.run_at = at.now + 10s;
    flow.add(later, {parent});
    const workflow_result made = co_await use.submit(flow);
    const std::vector<std::string> order = co_await use.run_all();
    EXPECT_EQ(order.size(), 1U);
    const task_record child = co_await at.look(made.tasks[1].id);
    EXPECT_EQ(view_of(child, at.now), task_view::scheduled);
    at.now += 10s;
    const std::vector<std::string> rest = co_await use.run_all();
    EXPECT_EQ(rest, std::vector<std::string>{"child"});
}

WEIR_STORE_TEST(Workflows, AWaitingTaskIsEditedAndStaysInItsPlace) {
    flow_bench use(at);
    workflow flow;
    const dependency parent = flow.add(named("parent"));
    flow.add(named("child"), {parent.as_payload()});
    const workflow_result made = co_await use.submit(flow);
    task_edit edit;
    edit.priority = 7;
    edit.payload = "\"mine\"";
    edit.run_at = at.now + 5s;
    const change_result edited = co_await at.kept->edit(made.tasks[1].id, edit, at.now);
    EXPECT_EQ(edited, change_result::done);
    const change_result retried = co_await at.kept->retry(made.tasks[1].id, at.now);
    EXPECT_EQ(retried, change_result::no_change);
    const std::vector<std::string> order = co_await use.run_all();
    EXPECT_EQ(order, std::vector<std::string>{"parent"});
    const task_record child = co_await at.look(made.tasks[1].id);
    EXPECT_EQ(child.payload, "\"mine\"");
    EXPECT_EQ(view_of(child, at.now), task_view::scheduled);
}

WEIR_STORE_TEST(Workflows, ADetailHasParentsAndChildren) {
    flow_bench use(at);
    workflow flow;
    const dependency parent = flow.add(named("parent"));
    flow.add(named("child"), {parent.with(failure_policy::run)});
    const workflow_result made = co_await use.submit(flow);
    const std::optional<task_detail> up = co_await at.kept->find(made.tasks[0].id);
    EXPECT_EQ(up->children, std::vector<task_id>{made.tasks[1].id});
    const std::optional<task_detail> down = co_await at.kept->find(made.tasks[1].id);
    EXPECT_EQ(down->task.parents.at(0).task, made.tasks[0].id);
    EXPECT_EQ(down->task.parents.at(0).on_failure, failure_policy::run);
    EXPECT_EQ(down->task.parents.at(0).outcome, dependency_outcome::open);
    task_filter waiting;
    waiting.view = task_view::waiting;
    const task_page found = co_await at.kept->list(waiting, at.now);
    EXPECT_EQ(found.size(), 1U);
    waiting.view = task_view::pending;
    const task_page pending = co_await at.kept->list(waiting, at.now);
    EXPECT_EQ(pending.size(), 1U);
    EXPECT_EQ(pending.at(0).id, made.tasks[0].id);
}

// ---- groups

WEIR_STORE_TEST(Workflows, AGroupEndsWithItsLastMember) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(3));
    for (int left = 3; left > 0; --left) {
        const group_record open = co_await use.group(made.group);
        EXPECT_EQ(open.open, static_cast<std::uint64_t>(left));
        EXPECT_EQ(open.state, group_state::open);
        const std::vector<task_record> none = co_await use.all("callback");
        EXPECT_TRUE(none.empty());
        const std::vector<task_record> run = co_await use.claim(1);
        co_await use.settle(run, task_state::completed);
    }
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::completed);
    EXPECT_EQ(ended.completed(), 3U);
    EXPECT_EQ(ended.finished_at, at.now);
    const task_record callback = co_await at.look(ended.callback_task);
    EXPECT_EQ(callback.idempotency_key, "group/" + made.group.text());
    EXPECT_EQ(callback.payload, R"({"group":{"id":")" + made.group.text() +
                                    R"(","state":"completed","total":3,"completed":3,"failed":0,)"
                                    R"("cancelled":0}})");
}

WEIR_STORE_TEST(Workflows, ThePolicyOfAGroupDecidesAboutItsCallback) {
    flow_bench use(at);
    for (const failure_policy policy :
         {failure_policy::cancel, failure_policy::run, failure_policy::hold}) {
        const workflow_result made = co_await use.submit(fan_out(2, policy));
        const std::vector<task_record> runs = co_await use.claim();
        co_await use.settle_one(runs[0], task_state::failed);
        co_await use.settle_one(runs[1], task_state::completed);
        const group_record after = co_await use.group(made.group);
        EXPECT_EQ(after.failed, 1U);
        if (policy == failure_policy::hold) {
            EXPECT_TRUE(after.is_held());
            EXPECT_FALSE(after.callback_task);
            const change_result retried = co_await at.kept->retry(runs[0].id, at.now);
            EXPECT_EQ(retried, change_result::done);
            const std::vector<std::string> rest = co_await use.run_all();
            EXPECT_EQ(rest, (std::vector<std::string>{"member", "callback"}));
            const group_record ended = co_await use.group(made.group);
            EXPECT_EQ(ended.state, group_state::completed);
            continue;
        }
        EXPECT_EQ(after.state, group_state::failed);
        const task_record callback = co_await at.look(after.callback_task);
        const bool runs_it = policy == failure_policy::run;
        EXPECT_EQ(callback.state, runs_it ? task_state::pending : task_state::cancelled);
        EXPECT_EQ(callback.error.empty(), runs_it);
        co_await use.run_all();
    }
}

WEIR_STORE_TEST(Workflows, MembersAreListedByACursor) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(25));
    co_await use.submit(fan_out(3));
    std::vector<task_id> seen;
    member_query query;
    query.limit = 10;
    for (;;) {
        const auto page = co_await use.flows().members(made.group, query);
        if (page.empty()) {
            break;
        }
        for (const task_record& each : page) {
            EXPECT_EQ(each.group, made.group);
            seen.push_back(each.id);
        }
        query.after = seen.back();
    }
    EXPECT_EQ(seen.size(), 25U);
    EXPECT_TRUE(std::ranges::is_sorted(seen));
}

WEIR_STORE_TEST(Workflows, GroupsAreListedNewestFirst) {
    flow_bench use(at);
    std::vector<group_id> groups;
    for (int i = 0; i < 5; ++i) {
        const workflow_result made = co_await use.submit(fan_out(1));
        groups.push_back(made.group);
    }
    co_await use.flows().cancel(groups[1], at.now);
    group_query filter;
    filter.limit = 2;
    const auto first = co_await use.flows().list(filter);
    EXPECT_EQ(first.at(0).id, groups[4]);
    filter.before = first.at(1).id;
    const auto next = co_await use.flows().list(filter);
    EXPECT_EQ(next.at(0).id, groups[2]);
    filter = {};
    filter.state = group_state::cancelled;
    const auto cancelled = co_await use.flows().list(filter);
    EXPECT_EQ(cancelled.size(), 1U);
    EXPECT_EQ(cancelled.at(0).id, groups[1]);
}

WEIR_STORE_TEST(Workflows, ACancelledGroupRunsItsCallbackOrNot) {
    flow_bench use(at);
    for (const bool runs_it : {true, false}) {
        workflow flow = fan_out(4);
        flow.group->runs_callback_on_cancel = runs_it;
        const workflow_result made = co_await use.submit(flow);
        const std::vector<task_record> run = co_await use.claim(1);
        const change_result result = co_await use.flows().cancel(made.group, at.now);
        EXPECT_EQ(result, change_result::requested);
        const heartbeat_answer beat = co_await at.beat("a", 1h);
        EXPECT_EQ(beat.cancelling.size(), 1U);
        const std::vector<task_record> none = co_await use.claim();
        EXPECT_TRUE(none.empty());
        const change_result again = co_await use.flows().cancel(made.group, at.now);
        EXPECT_EQ(again, change_result::no_change);
        co_await at.settle(at.again(run[0], 0s));
        const group_record ended = co_await use.group(made.group);
        EXPECT_EQ(ended.state, group_state::cancelled);
        EXPECT_EQ(ended.cancelled, 4U);
        const task_record callback = co_await at.look(ended.callback_task);
        EXPECT_EQ(callback.state, runs_it ? task_state::pending : task_state::cancelled);
        co_await use.run_all();
    }
    const change_result unknown = co_await use.flows().cancel(group_id(77), at.now);
    EXPECT_EQ(unknown, change_result::not_found);
}

WEIR_STORE_TEST(Workflows, ACancelOfASubtreeIgnoresThePolicies) {
    flow_bench use(at);
    workflow flow;
    const dependency root = flow.add(named("root"));
    const dependency left = flow.add(named("left"), {root.with(failure_policy::run)});
    const dependency right = flow.add(named("right"), {root.with(failure_policy::hold)});
    flow.add(named("leaf"), {left.with(failure_policy::run), right.with(failure_policy::run)});
    flow.add(named("other"));
    const workflow_result made = co_await use.submit(flow);
    const change_result result = co_await use.flows().cancel_subtree(made.tasks[0].id, at.now);
    EXPECT_EQ(result, change_result::done);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::cancelled), 4U);
    EXPECT_EQ(queue.due, 1U);
    const change_result again = co_await use.flows().cancel_subtree(made.tasks[0].id, at.now);
    EXPECT_EQ(again, change_result::no_change);
    const change_result unknown = co_await use.flows().cancel_subtree(task_id(9), at.now);
    EXPECT_EQ(unknown, change_result::not_found);
}

// More than one transaction takes.
WEIR_STORE_TEST(Workflows, ManyDependentsAreToldInSteps) {
    constexpr std::size_t many = 2500;
    flow_bench use(at);
    workflow flow;
    const dependency root = flow.add(named("root"));
    for (std::size_t i = 0; i < many; ++i) {
        flow.add(named("child"),
                 {root.with(i % 2 == 0 ? failure_policy::cancel : failure_policy::run)});
    }
    flow.group = with_callback(failure_policy::run);
    const workflow_result made = co_await use.submit(flow);
    const std::vector<task_record> run = co_await use.claim();
    EXPECT_EQ(run.size(), 1U);
    co_await use.settle(run, task_state::failed);
    if (at.kind->is_lasting) {
        co_await at.reopen();  // as after a crash
    }
    const std::vector<std::string> ran = co_await use.run_all();
    EXPECT_EQ(ran.size(), many / 2 + 1);
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::failed);
    EXPECT_EQ(ended.cancelled, many / 2);
}

WEIR_STORE_TEST(Workflows, ALargeGroupIsCancelledAtOnce) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(3500));
    co_await use.claim(7);
    const change_result result = co_await use.flows().cancel(made.group, at.now);
    EXPECT_EQ(result, change_result::requested);
    const group_record left = co_await use.group(made.group);
    EXPECT_EQ(left.open, 7U);
    const std::vector<task_record> none = co_await use.claim();
    EXPECT_TRUE(none.empty());
    at.now += std::chrono::hours(2000);
    const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(rescued.cancelled, 7U);
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::cancelled);
    EXPECT_TRUE(ended.callback_task);
}

WEIR_STORE_TEST(Workflows, AllTasksOrNone) {
    flow_bench use(at);
    queue_limits limits;
    limits.max_pending = 2;
    co_await at.kept->limit("small", limits);
    workflow flow = fan_out(3);
    for (new_task& each : flow.tasks) {
        each.queue = "small";
    }
    flow.group->queue = "default";
    const workflow_result refused = co_await use.submit(flow);
    EXPECT_EQ(refused.what, verdict::refused);
    EXPECT_EQ(refused.refused, 2U);
    EXPECT_EQ(refused.tasks.at(2).what, submit_result::verdict::queue_full);
    const queue_record queue = co_await at.queue("small");
    EXPECT_EQ(queue.count(task_state::pending), 0U);
    const auto groups = co_await use.flows().list(group_query());
    EXPECT_TRUE(groups.empty());
}

WEIR_STORE_TEST(Workflows, ARepeatedSubmitFindsTheGroup) {
    flow_bench use(at);
    workflow flow = fan_out(3);
    flow.group->idempotency_key = "once";
    const workflow_result made = co_await use.submit(flow);
    const workflow_result again = co_await use.submit(flow);
    EXPECT_EQ(again.what, verdict::duplicate);
    EXPECT_EQ(again.group, made.group);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::pending), 3U);
}

WEIR_STORE_TEST(Workflows, ADuplicateStandsForTheExistingTask) {
    flow_bench use(at);
    new_task keyed = named("a");
    keyed.idempotency_key = "key";
    const submit_result first = co_await at.submit(keyed);
    workflow flow;
    const dependency known = flow.add(keyed);
    flow.add(named("b"), {known});
    flow.group = with_callback();
    const workflow_result made = co_await use.submit(flow);
    EXPECT_EQ(made.tasks[0].what, submit_result::verdict::duplicate);
    EXPECT_EQ(made.tasks[0].id, first.id);
    const group_record group = co_await use.group(made.group);
    EXPECT_EQ(group.total, 1U);
    const std::vector<std::string> order = co_await use.run_all();
    EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "callback"}));
}

// ---- retention

WEIR_STORE_TEST(Workflows, MembersStayUntilTheirGroupHasEnded) {
    flow_bench use(at);
    const workflow_result made = co_await use.submit(fan_out(2));
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle_one(runs[0], task_state::completed);
    const retention kept{10s, 20s, 5s, 3s};
    const auto purge = [&]() -> task<> {
        for (std::size_t i = 0; i < 5; ++i) {
            co_await at.kept->purge(kept, at.now);
        }
    };
    at.now += 1h;
    co_await purge();
    const std::optional<task_detail> member = co_await at.kept->find(runs[0].id);
    EXPECT_TRUE(member.has_value());
    co_await use.settle_one(runs[1], task_state::completed);
    at.now += 9s;
    co_await purge();
    const std::optional<task_detail> still = co_await at.kept->find(runs[0].id);
    EXPECT_TRUE(still.has_value());
    at.now += 1s;
    co_await purge();
    const std::optional<task_detail> gone = co_await at.kept->find(runs[0].id);
    EXPECT_FALSE(gone.has_value());
    co_await use.run_all();
    at.now += 1h;
    co_await purge();
    const std::optional<group_record> group = co_await use.flows().find(made.group);
    EXPECT_FALSE(group.has_value());
}

// 'Nothing waits on what cannot end': the queue of a pending parent is removed.
WEIR_STORE_TEST(Workflows, ARemovedQueueTellsDependentsAndGroups) {
    flow_bench use(at);
    workflow flow;
    new_task parent = named("parent");
    parent.queue = "doomed";
    const dependency first = flow.add(parent);
    flow.add(named("after"), {first});
    flow.add(named("anyway"), {first.with(failure_policy::run)});
    flow.add(named("later"), {first.with(failure_policy::hold)});
    flow.group = with_callback(failure_policy::hold);
    const workflow_result made = co_await use.submit(flow);
    const queue_removal removed = co_await at.kept->remove_queue("doomed", true);
    EXPECT_EQ(removed.what, queue_removal::verdict::removed);
    const std::vector<std::string> order = co_await use.run_all();
    EXPECT_EQ(order, std::vector<std::string>{"anyway"});
    const group_record ended = co_await use.group(made.group);
    EXPECT_EQ(ended.state, group_state::failed);
    EXPECT_EQ(ended.cancelled, 3U);
    const task_record callback = co_await at.look(ended.callback_task);
    EXPECT_EQ(callback.state, task_state::cancelled);
}

// A held task, whose parent failed and is removed, is cancelled.
WEIR_STORE_TEST(Workflows, ARemovedParentEndsTheHold) {
    flow_bench use(at);
    workflow flow;
    const dependency parent = flow.add(named("parent"));
    flow.add(named("later"), {parent.with(failure_policy::hold)});
    const workflow_result made = co_await use.submit(flow);
    const std::vector<task_record> runs = co_await use.claim();
    co_await use.settle(runs, task_state::failed);
    const change_result removed = co_await at.kept->remove_task(made.tasks[0].id, at.now);
    EXPECT_EQ(removed, change_result::done);
    const task_record held = co_await at.look(made.tasks[1].id);
    EXPECT_EQ(held.state, task_state::cancelled);
}

}  // namespace
