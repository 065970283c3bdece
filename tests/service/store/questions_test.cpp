// SPDX-License-Identifier: MIT
// Lists and filters, redriving, schedules, retention, and notifications of observers.

#include "stores.hpp"

namespace {

using namespace store_test;
using verdict = submit_result::verdict;

WEIR_STORE_SUITE(StoreQuestions);

// A page of tasks must not cost as much as their payloads and results.
WEIR_STORE_TEST(StoreQuestions, BriefListsLeaveOutWhatMayBeLong) {
    for (const std::size_t size : {10U, 100'000U}) {  // beside the task, and apart
        new_task fresh = at.make();
        fresh.payload = '"' + std::string(size, 'p') + '"';
        const submit_result submitted = co_await at.submit(fresh);
        task_filter filter;
        filter.limit = 1;
        const std::vector<task_record> whole = co_await at.kept->list(filter, at.now);
        WEIR_ASSERT_EQ(whole.size(), 1U);
        EXPECT_EQ(whole[0].payload, fresh.payload);
        filter.is_brief = true;
        const std::vector<task_record> brief = co_await at.kept->list(filter, at.now);
        WEIR_ASSERT_EQ(brief.size(), 1U);
        EXPECT_EQ(brief[0].id, submitted.id);
        EXPECT_EQ(brief[0].queue, "default");
        EXPECT_EQ(brief[0].payload, "null");
        EXPECT_EQ(brief[0].result, "");
    }
}

WEIR_STORE_TEST(StoreQuestions, ListsAreFilteredAndPaged) {
    std::vector<new_task> all;
    for (int i = 0; i < 40; ++i) {
        new_task& each = all.emplace_back(i % 2 == 0 ? "even" : "odd");
        each.queue = i % 4 < 2 ? "a" : "b";
        each.flow_key = i % 5 == 0 ? "five" : "";
        if (i % 10 == 0) {
            each.tags = {"ten", "round"};
        }
        if (i >= 30) {
            each.run_at = at.now + 1h;
        }
    }
    std::vector<task_id> ids;
    for (const new_task& each : all) {
        at.now += 1s;
        const submit_result submitted = co_await at.submit(each);
        ids.push_back(submitted.id);
    }
    const auto listed = [&](task_filter filter) -> task<std::vector<std::size_t>> {
        const std::vector<task_record> found = co_await at.kept->list(filter, at.now);
        std::vector<std::size_t> indexes;
        for (const task_record& each : found) {
            const auto index =
                static_cast<std::size_t>(std::find(ids.begin(), ids.end(), each.id) - ids.begin());
            EXPECT_EQ(each.kind, all.at(index).kind);
            EXPECT_EQ(each.queue, all[index].queue);
            EXPECT_EQ(each.tags, all[index].tags);
            EXPECT_EQ(each.flow_key, all[index].flow_key);
            indexes.push_back(index);
        }
        co_return indexes;
    };
    using numbers = std::vector<std::size_t>;
    task_filter filter;
    filter.limit = 3;
    numbers found = co_await listed(filter);
    EXPECT_EQ(found, (numbers{39, 38, 37}));
    filter.before = ids[37];
    found = co_await listed(filter);
    EXPECT_EQ(found, (numbers{36, 35, 34}));
    filter = {};
    filter.tag = "ten";
    found = co_await listed(filter);
    EXPECT_EQ(found, (numbers{30, 20, 10, 0}));
    filter.queue = "a";
    found = co_await listed(filter);
    EXPECT_EQ(found, (numbers{20, 0}));
    filter.tag = "nothing";
    found = co_await listed(filter);
    EXPECT_TRUE(found.empty());
    filter = {};
    filter.kind = "odd";
    filter.flow_key = "five";
    found = co_await listed(filter);
    EXPECT_EQ(found, (numbers{35, 25, 15, 5}));
    filter.created_from = at.now - 20s;
    filter.created_to = at.now - 4s;
    found = co_await listed(filter);
    EXPECT_EQ(found, numbers{25});
    filter = {};
    filter.view = task_view::scheduled;
    filter.limit = 2;
    found = co_await listed(filter);
    EXPECT_EQ(found, (numbers{39, 38}));
    filter.view = task_view::pending;
    found = co_await listed(filter);
    EXPECT_EQ(found, (numbers{29, 28}));
    // Now some of each state.
    co_await at.beat("n", 1h);
    const claimed runs = co_await at.claim(6, "n");
    WEIR_ASSERT_EQ(runs.tasks.size(), 6U);
    const auto index_of = [&](std::size_t run) {
        return static_cast<std::size_t>(std::find(ids.begin(), ids.end(), runs.tasks[run].id) -
                                        ids.begin());
    };
    co_await at.settle(bench::ending(runs.tasks[0], task_state::completed), "n");
    co_await at.settle(bench::ending(runs.tasks[1], task_state::failed), "n");
    co_await at.settle(bench::ending(runs.tasks[2], task_state::cancelled), "n");
    co_await at.settle(at.again(runs.tasks[3], 1s), "n");
    co_await at.kept->cancel(runs.tasks[4].id, at.now);
    const std::pair<task_view, std::size_t> views[] = {
        {task_view::completed, 0}, {task_view::failed, 1},     {task_view::cancelled, 2},
        {task_view::retrying, 3},  {task_view::cancelling, 4}, {task_view::running, 5}};
    for (const auto& [view, run] : views) {
        filter = {};
        filter.view = view;
        found = co_await listed(filter);
        EXPECT_EQ(found, numbers{index_of(run)}) << to_string(view);
        filter.view.reset();
        filter.state = state_of(view);
        filter.limit = 100;
        found = co_await listed(filter);
        EXPECT_TRUE(std::find(found.begin(), found.end(), index_of(run)) != found.end());
        EXPECT_TRUE(std::is_sorted(found.rbegin(), found.rend()));
    }
}

WEIR_STORE_TEST(StoreQuestions, DeadLettersAreDriven) {
    co_await at.submit_many(30);
    co_await at.submit_many(10, "", "other");
    co_await at.beat("a", 1h);
    const claimed runs = co_await at.claim(100);
    std::vector<settlement> failed;
    std::vector<progress_note> notes;
    for (const task_record& each : runs.tasks) {
        failed.push_back(bench::ending(each, task_state::failed));
        progress_note& half = notes.emplace_back();
        half.key = failed.back().key;
        half.progress = 0.5;
    }
    co_await at.kept->note_progress("a", notes, at.now);
    failed[0].state = task_state::cancelled;
    co_await at.kept->settle("a", failed, at.now);
    const task_id spared = failed[0].key.id;
    task_filter filter;
    filter.queue = "other";
    filter.limit = 4;
    std::size_t driven = co_await at.kept->redrive(filter, at.now);
    EXPECT_EQ(driven, 4U);
    filter = {};
    filter.limit = 1000;
    driven = co_await at.kept->redrive(filter, at.now);
    EXPECT_EQ(driven, 35U);
    driven = co_await at.kept->redrive(filter, at.now);
    EXPECT_EQ(driven, 0U);
    const task_record read = co_await at.look(spared);
    EXPECT_EQ(read.state, task_state::cancelled);
    EXPECT_EQ(read.progress, 0.5);
    const task_record driven_one = co_await at.look(failed[1].key.id);
    EXPECT_EQ(driven_one.progress, 0);
    const claimed again = co_await at.claim(100);
    WEIR_ASSERT_EQ(again.tasks.size(), 39U);
    for (const task_record& each : again.tasks) {
        EXPECT_EQ(each.failures, 0U);
        EXPECT_EQ(each.run, 2U);
    }
}

WEIR_STORE_TEST(StoreQuestions, SlotsAreLeftOnceAndOnlyWithTheirTask) {
    schedule definition;
    definition.name = "nightly";
    definition.cron = "0 3 * * *";
    definition.zone = "Europe/Berlin";
    definition.missed = missed_slots::skip;
    definition.task = new_task("report", R"({"a":"ä\n"})");
    definition.task.queue = "reports";
    definition.task.priority = 3;
    definition.task.tags = {"night"};
    definition.task.secret = {"key"};
    definition.task.retry.max_attempts = 2;
    definition.task.timeout = 7s;
    definition.task.flow_key = "k";
    const timestamp slot = at.now;
    co_await at.kept->put_schedule(definition, slot);
    if (at.kind->is_lasting) {
        co_await at.reopen();
    }
    std::vector<schedule_record> all = co_await at.kept->schedules();
    WEIR_ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name, definition.name);
    EXPECT_EQ(all[0].cron, definition.cron);
    EXPECT_EQ(all[0].zone, definition.zone);
    EXPECT_EQ(all[0].missed, missed_slots::skip);
    EXPECT_EQ(all[0].task.kind, "report");
    EXPECT_EQ(all[0].task.payload, definition.task.payload);
    EXPECT_EQ(all[0].task.queue, "reports");
    EXPECT_EQ(all[0].task.priority, 3);
    EXPECT_EQ(all[0].task.tags, definition.task.tags);
    EXPECT_EQ(all[0].task.secret, definition.task.secret);
    EXPECT_EQ(all[0].task.retry, definition.task.retry);
    EXPECT_EQ(all[0].task.timeout, 7s);
    EXPECT_EQ(all[0].task.flow_key, "k");
    EXPECT_EQ(all[0].next_slot, slot);
    EXPECT_FALSE(all[0].last_slot.has_value());

    std::optional<new_task> fresh(definition.task);
    fresh->run_at = slot;
    auto fired = co_await at.kept->fire("nightly", slot, slot + 24h, fresh, at.now);
    WEIR_ASSERT_TRUE(fired.has_value());
    EXPECT_EQ(fired->what, verdict::made);
    // Another node fires the slot too late.
    auto late = co_await at.kept->fire("nightly", slot, slot + 24h, fresh, at.now);
    EXPECT_FALSE(late.has_value());
    late = co_await at.kept->fire("unknown", slot, slot + 24h, fresh, at.now);
    EXPECT_FALSE(late.has_value());
    all = co_await at.kept->schedules();
    EXPECT_EQ(all[0].next_slot, slot + 24h);
    EXPECT_EQ(all[0].last_slot, slot);
    EXPECT_EQ(all[0].last_task, fired->id);
    // A full queue: neither the task nor the slot.
    queue_limits limits;
    limits.max_pending = 1;
    co_await at.kept->limit("reports", limits);
    fired = co_await at.kept->fire("nightly", slot + 24h, slot + 48h, fresh, at.now);
    WEIR_ASSERT_TRUE(fired.has_value());
    EXPECT_EQ(fired->what, verdict::queue_full);
    all = co_await at.kept->schedules();
    EXPECT_EQ(all[0].next_slot, slot + 24h);
    // Skipped.
    const std::optional<new_task> nothing;
    fired = co_await at.kept->fire("nightly", slot + 24h, slot + 48h, nothing, at.now);
    WEIR_ASSERT_TRUE(fired.has_value());
    EXPECT_FALSE(fired->id);
    all = co_await at.kept->schedules();
    EXPECT_EQ(all[0].last_slot, slot);
    // The same times keep the slot, others do not.
    definition.is_paused = true;
    co_await at.kept->put_schedule(definition, slot + 1h);
    all = co_await at.kept->schedules();
    EXPECT_EQ(all[0].next_slot, slot + 48h);
    EXPECT_TRUE(all[0].is_paused);
    co_await at.kept->limit("reports", {});
    fired = co_await at.kept->fire("nightly", slot + 48h, slot + 72h, fresh, at.now);
    EXPECT_FALSE(fired.has_value());
    // Slots within a pause are skipped.
    definition.is_paused = false;
    co_await at.kept->put_schedule(definition, slot + 96h);
    all = co_await at.kept->schedules();
    EXPECT_EQ(all[0].next_slot, slot + 96h);
    // Of several missed slots, the latest one was fired.
    fresh->run_at = slot + 120h;
    fired = co_await at.kept->fire("nightly", slot + 96h, slot + 144h, fresh, at.now);
    WEIR_ASSERT_TRUE(fired.has_value());
    all = co_await at.kept->schedules();
    EXPECT_EQ(all[0].last_slot, slot + 120h);
    EXPECT_EQ(all[0].last_task, fired->id);
    definition.cron = "0 4 * * *";
    co_await at.kept->put_schedule(definition, slot + 1h);
    all = co_await at.kept->schedules();
    EXPECT_EQ(all[0].next_slot, slot + 1h);
    bool is_gone = co_await at.kept->remove_schedule("nightly");
    EXPECT_TRUE(is_gone);
    is_gone = co_await at.kept->remove_schedule("nightly");
    EXPECT_FALSE(is_gone);
    const queue_record counts = co_await at.queue("reports");
    EXPECT_EQ(counts.count(task_state::pending), 2U);
}

WEIR_STORE_TEST(StoreQuestions, WhatIsOldGoes) {
    std::vector<new_task> all;
    for (int i = 0; i < 10; ++i) {
        new_task& each = all.emplace_back("work", std::string(3000, '1'));
        each.tags = {"t" + std::to_string(i % 3)};
        each.flow_key = std::to_string(i);
        each.idempotency_key = "key " + std::to_string(i);
    }
    co_await at.kept->submit(all, at.now);
    co_await at.beat("a", 24h * 100);
    const claimed runs = co_await at.claim(9);
    std::vector<settlement> ended;
    for (std::size_t i = 0; i < 8; ++i) {
        ended.push_back(bench::ending(runs.tasks[i], i < 3   ? task_state::completed
                                                     : i < 6 ? task_state::failed
                                                             : task_state::cancelled));
    }
    co_await at.kept->settle("a", ended, at.now);
    const retention kept{1h, 3h, 2h};
    at.now += 59min;
    std::size_t gone = co_await at.kept->purge(kept, at.now);
    EXPECT_EQ(gone, 0U);
    for (const std::size_t expected : {3U, 2U, 3U, 0U}) {
        at.now += 1h;
        gone = co_await at.kept->purge(kept, at.now);
        EXPECT_EQ(gone, expected);
    }
    const queue_record counts = co_await at.queue();
    EXPECT_EQ(counts.count(task_state::pending), 1U);
    EXPECT_EQ(counts.count(task_state::running), 1U);
    EXPECT_EQ(counts.counts[2] + counts.counts[3] + counts.counts[4], 0U);
    const auto found = co_await at.kept->find(ended[0].key.id);
    EXPECT_FALSE(found.has_value());
    // Its key can be used again, by a task with a new id.
    const submit_result again = co_await at.submit(all[0]);
    EXPECT_EQ(again.what, verdict::made);
    for (const settlement& each : ended) {
        EXPECT_NE(again.id, each.key.id);
    }
}

// Numbers are never given twice, even if all is purged within the same millisecond.
WEIR_STORE_TEST(StoreQuestions, NumbersAreNotUsedAgain) {
    co_await at.beat("a");
    task_id last;
    for (int i = 0; i < 5; ++i) {
        const std::vector<task_id> ids = co_await at.submit_many(3);
        EXPECT_LT(last, ids.front());
        last = ids.back();
        const claimed runs = co_await at.claim(3);
        co_await at.complete(runs.tasks);
        const std::size_t gone = co_await at.kept->purge({0s, 0s, 0s}, at.now);
        EXPECT_EQ(gone, 3U);
    }
    at.now -= 1h;  // nor if the clock is set back
    const std::vector<task_id> ids = co_await at.submit_many(1);
    EXPECT_LT(last, ids.front());
}

struct watcher : store_observer {
    void changed(std::span<const task_event> events) noexcept override {
        all.insert(all.end(), events.begin(), events.end());
    }
    void queue_changed(std::string_view queue) noexcept override { queues.emplace_back(queue); }
    std::vector<task_view> take() {
        std::vector<task_view> views;
        for (const task_event& each : all) {
            views.push_back(each.view);
        }
        last = all.empty() ? task_event() : all.back();
        all.clear();
        return views;
    }
    std::vector<task_event> all;
    task_event last;
    std::vector<std::string> queues;
};

WEIR_STORE_TEST(StoreQuestions, ObserversAreToldOfEachChange) {
    watcher seen;
    using views = std::vector<task_view>;
    at.kept->observe(&seen);
    new_task later = bench::make("", "q");
    later.run_at = at.now + 1h;
    const submit_result submitted = co_await at.submit(later);
    EXPECT_EQ(seen.take(), views{task_view::scheduled});
    EXPECT_EQ(seen.last.id, submitted.id);
    EXPECT_EQ(seen.last.kind, "work");
    EXPECT_EQ(seen.last.queue, "q");
    EXPECT_EQ(seen.last.at, at.now);
    EXPECT_EQ(seen.last.due_at, at.now + 1h);
    co_await at.kept->retry(submitted.id, at.now);
    EXPECT_EQ(seen.take(), views{task_view::pending});
    EXPECT_EQ(seen.last.due_at, at.now);
    co_await at.beat("a");
    EXPECT_TRUE(seen.take().empty());
    at.now += 1s;
    claimed run = co_await at.claim(1);
    EXPECT_EQ(seen.take(), views{task_view::running});
    EXPECT_EQ(seen.last.run, 1U);
    EXPECT_EQ(seen.last.started_at, at.now);
    std::vector<progress_note> notes(1);
    notes[0].key = {submitted.id, 1};
    notes[0].progress = 0.5;
    notes[0].message = "half";
    co_await at.kept->note_progress("a", notes, at.now);
    EXPECT_EQ(seen.take(), views{task_view::running});
    EXPECT_EQ(seen.last.progress, 0.5);
    EXPECT_EQ(seen.last.message, "half");
    co_await at.settle(at.again(run.tasks[0], 0s));
    EXPECT_EQ(seen.take(), views{task_view::retrying});
    EXPECT_EQ(seen.last.failures, 1U);
    EXPECT_EQ(seen.last.message, "it broke");
    run = co_await at.claim(1);
    seen.take();
    const bool is_fenced = co_await at.settle(bench::ending(run.tasks[0], task_state::failed), "b");
    EXPECT_FALSE(is_fenced);
    EXPECT_TRUE(seen.take().empty());
    co_await at.kept->cancel(submitted.id, at.now);
    EXPECT_EQ(seen.take(), views{task_view::cancelling});
    co_await at.kept->retire("a");
    co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(seen.take(), views{task_view::cancelled});
    co_await at.kept->retry(submitted.id, at.now);
    EXPECT_EQ(seen.take(), views{task_view::pending});
    co_await at.beat("b");
    run = co_await at.claim(1, "b");
    co_await at.complete(run.tasks, "b");
    EXPECT_EQ(seen.take(), (views{task_view::running, task_view::completed}));
    co_await at.submit_many(1);
    run = co_await at.claim(1, "b");
    co_await at.settle(bench::ending(run.tasks[0], task_state::failed), "b");
    seen.take();
    co_await at.kept->redrive({}, at.now);
    EXPECT_EQ(seen.take(), views{task_view::pending});
    EXPECT_TRUE(seen.queues.empty());
    co_await at.kept->pause("q", true);
    co_await at.kept->limit("r", {});
    EXPECT_EQ(seen.queues, (std::vector<std::string>{"q", "r"}));
    at.kept->observe(nullptr);
    co_await at.submit_many(1);
    EXPECT_TRUE(seen.take().empty());
    co_await at.kept->probe({});
}

}  // namespace
