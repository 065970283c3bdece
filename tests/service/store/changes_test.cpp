// SPDX-License-Identifier: MIT
// Many tasks are changed in one transaction, and pending tasks are edited. At the end of each test
// the counts of queues, flow keys and destinations are compared with the tasks.

#include "stores.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreChanges);

bulk_change change_of(task_action action, std::vector<task_id> ids) {
    bulk_change change;
    change.action = action;
    change.ids = std::move(ids);
    return change;
}

using results = std::vector<change_result>;
using enum change_result;

WEIR_STORE_TEST(StoreChanges, ManyTasksAreChangedAtOnce) {
    co_await at.beat("a", 1h);
    std::vector<task_id> ids = co_await at.submit_many(2);
    const std::vector<task_id> keyed = co_await at.submit_many(2, "key");
    const submit_result there = co_await at.submit(bench::make_for("host"));
    ids.insert(ids.end(), keyed.begin(), keyed.end());
    ids.push_back(there.id);
    ids.push_back(task_id(ids.back().number() + 1));  // unknown
    co_await at.claim(1);
    const results cancelled =
        co_await at.kept->change_tasks(change_of(task_action::cancel, ids), at.now);
    EXPECT_EQ(cancelled, (results{requested, done, done, done, done, not_found}));
    const results again =
        co_await at.kept->change_tasks(change_of(task_action::cancel, ids), at.now);
    EXPECT_EQ(again, (results{no_change, no_change, no_change, no_change, no_change, not_found}));
    const queue_record after = co_await at.queue();
    EXPECT_EQ(after.count(task_state::cancelled), 4U);
    EXPECT_EQ(after.count(task_state::running), 1U);
    EXPECT_EQ(after.due, 0U);

    const std::vector<task_id> some = {ids[0], ids[1], ids[4]};
    const results retried =
        co_await at.kept->change_tasks(change_of(task_action::retry, some), at.now);
    EXPECT_EQ(retried, (results{no_change, done, done}));
    const results removed =
        co_await at.kept->change_tasks(change_of(task_action::remove, ids), at.now);
    EXPECT_EQ(removed, (results{no_change, no_change, done, done, no_change, not_found}));
    const queue_record left = co_await at.queue();
    EXPECT_EQ(left.count(task_state::pending), 2U);
    EXPECT_EQ(left.count(task_state::cancelled), 0U);
}

// A task that has moved on since it was listed stays as it is.
WEIR_STORE_TEST(StoreChanges, TheStateIsCheckedAgain) {
    co_await at.beat("a", 1h);
    const std::vector<task_id> ids = co_await at.submit_many(3);
    new_task later = bench::make();
    later.run_at = at.now + 1h;
    const submit_result waiting = co_await at.submit(later);
    co_await at.claim(1);
    bulk_change change = change_of(task_action::cancel, {ids[0], ids[1], waiting.id});
    change.only.state = task_state::pending;
    change.only.view = task_view::pending;
    results got = co_await at.kept->change_tasks(change, at.now);
    EXPECT_EQ(got, (results{no_change, done, no_change}));
    change.only.view.reset();
    change.only.state.reset();
    change.only.any_of = {task_state::running, task_state::failed};
    change.ids = {ids[0], ids[1], ids[2], waiting.id};
    got = co_await at.kept->change_tasks(change, at.now);
    EXPECT_EQ(got, (results{requested, no_change, no_change, no_change}));
    change.only.any_of = {task_state::pending};
    change.only.view = task_view::scheduled;
    change.ids = {ids[2], waiting.id};
    got = co_await at.kept->change_tasks(change, at.now);
    EXPECT_EQ(got, (results{no_change, done}));
}

WEIR_STORE_TEST(StoreChanges, ARetryDoesNotTakeAUniqueKey) {
    std::vector<task_id> ids;
    for (int i = 0; i < 2; ++i) {
        new_task fresh = bench::make();
        fresh.unique_key = "alone";
        const submit_result made = co_await at.submit(fresh);
        ids.push_back(made.id);
        co_await at.kept->cancel(made.id, at.now);
    }
    const results got = co_await at.kept->change_tasks(change_of(task_action::retry, ids), at.now);
    EXPECT_EQ(got, (results{done, key_taken}));
}

WEIR_STORE_TEST(StoreChanges, ListsTasksInOneOfSeveralStates) {
    co_await at.beat("a", 1h);
    const std::vector<task_id> ids = co_await at.submit_many(4);
    const claimed runs = co_await at.claim(2);
    co_await at.settle(bench::ending(runs.tasks[0], task_state::failed));
    co_await at.kept->cancel(ids[3], at.now);
    const auto listed = [&](const std::vector<task_state>& states) -> task<std::vector<task_id>> {
        task_filter filter;
        filter.any_of = states;
        const task_page page = co_await at.kept->list(filter, at.now);
        std::vector<task_id> found;
        for (const task_record& each : page) {
            found.push_back(each.id);
        }
        co_return found;
    };
    using list = std::vector<task_id>;
    using enum task_state;
    const std::vector<task_state> not_ended = {pending, running};
    const std::vector<task_state> for_good = {failed, cancelled};
    const std::vector<task_state> well = {completed};
    const list open = co_await listed(not_ended);
    EXPECT_EQ(open, (list{ids[2], ids[1]}));
    const list ended = co_await listed(for_good);
    EXPECT_EQ(ended, (list{ids[3], ids[0]}));
    const list none = co_await listed(well);
    EXPECT_EQ(none, list());
}

// The next page of a tag begins where the last one ended.
WEIR_STORE_TEST(StoreChanges, PagesOfATag) {
    std::vector<task_id> tagged;
    for (int i = 0; i < 7; ++i) {
        new_task fresh = bench::make();
        fresh.tags = {i % 2 == 0 ? "even" : "odd"};
        const submit_result made = co_await at.submit(fresh);
        if (i % 2 == 0) {
            tagged.insert(tagged.begin(), made.id);
        }
    }
    task_filter filter;
    filter.tag = "even";
    filter.limit = 2;
    for (std::size_t i = 0; i < 4; i += 2) {
        const task_page page = co_await at.kept->list(filter, at.now);
        WEIR_ASSERT_EQ(page.size(), 2U);
        EXPECT_EQ(page[0].id, tagged[i]);
        EXPECT_EQ(page[1].id, tagged[i + 1]);
        filter.before = page[1].id;
    }
    const task_page rest = co_await at.kept->list(filter, at.now);
    EXPECT_EQ(rest.size(), 0U);
}

// ---- edits

WEIR_STORE_TEST(StoreChanges, APriorityDecidesTheTurn) {
    co_await at.beat("a", 1h);
    for (const char* const host : {"", "host"}) {
        std::vector<task_id> ids;
        for (int i = 0; i < 3; ++i) {
            const submit_result made = co_await at.submit(bench::make_for(host));
            ids.push_back(made.id);
        }
        task_edit edit;
        edit.priority = 5;
        const change_result result = co_await at.kept->edit(ids[2], edit, at.now);
        EXPECT_EQ(result, done);
        const task_record changed = co_await at.look(ids[2]);
        EXPECT_EQ(changed.priority, 5);
        EXPECT_EQ(changed.due_at, at.now);
        const claimed runs = co_await at.claim(3);
        WEIR_ASSERT_EQ(runs.tasks.size(), 3U);
        EXPECT_EQ(runs.tasks[0].id, ids[2]);
        EXPECT_EQ(runs.tasks[1].id, ids[0]);
    }
}

WEIR_STORE_TEST(StoreChanges, ATimeIsMovedBothWays) {
    co_await at.beat("a", 10h);
    const std::vector<task_id> ids = co_await at.submit_many(1);
    task_edit later;
    later.run_at = at.now + 1h;
    co_await at.kept->edit(ids[0], later, at.now);
    task_record changed = co_await at.look(ids[0]);
    EXPECT_EQ(changed.due_at, at.now + 1h);
    EXPECT_EQ(changed.run_at, at.now + 1h);
    EXPECT_EQ(view_of(changed, at.now), task_view::scheduled);
    queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.due, 0U);
    claimed runs = co_await at.claim(1);
    EXPECT_TRUE(runs.tasks.empty());
    EXPECT_EQ(runs.next_at, at.now + 1h);
    // A change of its priority alone does not make it due.
    task_edit urgent;
    urgent.priority = 7;
    co_await at.kept->edit(ids[0], urgent, at.now);
    runs = co_await at.claim(1);
    EXPECT_TRUE(runs.tasks.empty());

    task_edit earlier;
    earlier.run_at = at.now - 1s;
    co_await at.kept->edit(ids[0], earlier, at.now);
    changed = co_await at.look(ids[0]);
    EXPECT_EQ(changed.due_at, at.now);
    EXPECT_EQ(changed.priority, 7);
    queue = co_await at.queue();
    EXPECT_EQ(queue.due, 1U);
    runs = co_await at.claim(1);
    EXPECT_EQ(runs.tasks.size(), 1U);
}

// The delay before a retry is on the steady clock, a time that a client names on the calendar.
WEIR_STORE_TEST(StoreChanges, TheDelayOfARetryIsMoved) {
    co_await at.beat("a", 10h);
    const std::vector<task_id> ids = co_await at.submit_many(1);
    claimed runs = co_await at.claim(1);
    co_await at.settle(at.again(runs.tasks[0], 30min));
    task_edit edit;
    edit.run_at = at.now + 2h;
    co_await at.kept->edit(ids[0], edit, at.now);
    at.now += 1h;
    runs = co_await at.claim(1);
    EXPECT_TRUE(runs.tasks.empty());
    const task_record waiting = co_await at.look(ids[0]);
    EXPECT_EQ(view_of(waiting, at.now), task_view::retrying);
    at.now += 1h;
    runs = co_await at.claim(1);
    EXPECT_EQ(runs.tasks.size(), 1U);
}

WEIR_STORE_TEST(StoreChanges, APayloadMovesTheTaskToItsDestination) {
    co_await at.beat("a", 1h);
    destination_limits one;
    one.max_running = 1;
    co_await at.kept->limit_destinations("work", one);
    std::vector<task_id> ids;
    for (int i = 0; i < 2; ++i) {
        const submit_result made = co_await at.submit(bench::make_for("first"));
        ids.push_back(made.id);
    }
    const std::string large = '"' + std::string(5000, 'x') + '"';
    for (const std::string& payload : {large, std::string("{\"n\":1}"), large}) {
        task_edit edit;
        edit.payload = payload;
        edit.destination = "second";
        const change_result result = co_await at.kept->edit(ids[1], edit, at.now);
        EXPECT_EQ(result, done);
        const task_record changed = co_await at.look(ids[1]);
        EXPECT_EQ(changed.payload, payload);
        EXPECT_EQ(changed.destination, "second");
    }
    const claimed runs = co_await at.claim(5);
    EXPECT_EQ(runs.tasks.size(), 2U);  // with one destination it would be one
    const submit_result third = co_await at.submit(bench::make_for("first"));
    task_edit nowhere;
    nowhere.payload = "1";
    co_await at.kept->edit(third.id, nowhere, at.now);
    const task_record free = co_await at.look(third.id);
    EXPECT_EQ(free.destination, "");
    const claimed more = co_await at.claim(5);
    EXPECT_EQ(more.tasks.size(), 1U);
}

WEIR_STORE_TEST(StoreChanges, OnlyPendingTasksAreEdited) {
    co_await at.beat("a", 1h);
    const std::vector<task_id> ids = co_await at.submit_many(1);
    const claimed runs = co_await at.claim(1);
    task_edit edit;
    edit.priority = 1;
    change_result result = co_await at.kept->edit(ids[0], edit, at.now);
    EXPECT_EQ(result, no_change);
    co_await at.complete(runs.tasks);
    result = co_await at.kept->edit(ids[0], edit, at.now);
    EXPECT_EQ(result, no_change);
    result = co_await at.kept->edit(task_id(ids[0].number() + 1), edit, at.now);
    EXPECT_EQ(result, not_found);
    const task_record same = co_await at.look(ids[0]);
    EXPECT_EQ(same.priority, 0);
}

}  // namespace
