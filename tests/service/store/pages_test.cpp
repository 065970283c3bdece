// SPDX-License-Identifier: MIT
// Lists end in bounded time, however few tasks match; and queues and tasks are removed.

#include "stores.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StorePages);

// All pages of a filter, and how many there were.
task<std::pair<std::vector<task_id>, int>> all_pages(bench& at, task_filter filter) {
    std::pair<std::vector<task_id>, int> all;
    do {
        const task_page page = co_await at.kept->list(filter, at.now);
        for (const task_record& each : page) {
            all.first.push_back(each.id);
        }
        filter.before = page.size() == filter.limit ? page.back().id : page.searched_to;
        ++all.second;
    } while (filter.before);
    co_return all;
}

WEIR_STORE_TEST(StorePages, ASearchEndsEarlyAndContinues) {
    std::vector<task_id> rare;
    for (int i = 0; i < 5; ++i) {
        co_await at.submit_many(99);
        new_task fresh = bench::make("", i % 2 == 0 ? "even" : "odd");
        fresh.kind = "rare";
        const submit_result made = co_await at.submit(fresh);
        rare.insert(rare.begin(), made.id);
    }
    task_filter filter;
    filter.kind = "rare";
    filter.limit = 2;
    filter.max_scanned = 50;
    const task_page first = co_await at.kept->list(filter, at.now);
    EXPECT_EQ(first.size(), 1U);
    EXPECT_TRUE(first.searched_to);
    const auto found = co_await all_pages(at, filter);
    EXPECT_EQ(found.first, rare);
    EXPECT_GE(found.second, 9);
    filter.max_scanned = 20'000;
    const auto quick = co_await all_pages(at, filter);
    EXPECT_EQ(quick.first, rare);
    EXPECT_LE(quick.second, 4);
    filter.kind.clear();
    filter.queue = "even";
    filter.max_scanned = 50;
    const auto even = co_await all_pages(at, filter);
    EXPECT_EQ(even.first.size(), 3U);
}

WEIR_STORE_TEST(StorePages, ASearchLooksAtNoMoreTasksThanItMay) {
    new_task fresh = bench::make();
    fresh.kind = "rare";
    fresh.flow_key = "k";
    const submit_result made = co_await at.submit(fresh);
    co_await at.submit_many(49);
    task_filter by_kind;
    by_kind.kind = "rare";
    task_filter by_key;
    by_key.flow_key = "k";
    for (task_filter filter : {by_kind, by_key}) {
        filter.max_scanned = 50;
        const task_page found = co_await at.kept->list(filter, at.now);
        WEIR_ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].id, made.id);
        filter.max_scanned = 49;
        const task_page none = co_await at.kept->list(filter, at.now);
        EXPECT_EQ(none.size(), 0U);
        EXPECT_TRUE(none.searched_to);
    }
}

WEIR_STORE_TEST(StorePages, RemovesAQueueWithItsEndedTasks) {
    co_await at.beat("a", 1h);
    co_await at.submit_many(120, "", "stray");
    co_await at.submit_many(7);
    queue_removal result = co_await at.kept->remove_queue("stray", false);
    EXPECT_EQ(result.what, queue_removal::verdict::has_tasks);
    EXPECT_EQ(result.pending, 120U);
    const claimed runs = co_await at.claim(3);
    result = co_await at.kept->remove_queue("stray", true);
    EXPECT_EQ(result.what, queue_removal::verdict::has_tasks);
    EXPECT_GT(result.running, 0U);
    co_await at.complete(runs.tasks);
    result = co_await at.kept->remove_queue("stray", true);
    EXPECT_EQ(result.what, queue_removal::verdict::removed);
    EXPECT_EQ(result.tasks, 120U);
    const std::vector<queue_record> left = co_await at.kept->queues();
    WEIR_ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].name, "default");
    result = co_await at.kept->remove_queue("stray", true);
    EXPECT_EQ(result.what, queue_removal::verdict::not_found);
    co_await at.submit_many(1, "", "stray");
}

// With everything that belongs to it: bench::inspect finds what is left behind.
WEIR_STORE_TEST(StorePages, RemovesATaskThatHasEnded) {
    co_await at.beat("a", 1h);
    new_task fresh = bench::make("key");
    fresh.payload = '"' + std::string(5000, 'p') + '"';
    fresh.tags = {"red", "blue"};
    fresh.idempotency_key = "once";
    fresh.unique_key = "alone";
    const submit_result made = co_await at.submit(fresh);
    change_result result = co_await at.kept->remove_task(made.id, at.now);
    EXPECT_EQ(result, change_result::no_change);  // pending
    const claimed runs = co_await at.claim(1);
    WEIR_ASSERT_EQ(runs.tasks.size(), 1U);
    result = co_await at.kept->remove_task(made.id, at.now);
    EXPECT_EQ(result, change_result::no_change);  // running
    co_await at.settle(bench::ending(runs.tasks[0], task_state::failed));
    co_await at.submit_many(1);
    result = co_await at.kept->remove_task(made.id, at.now);
    EXPECT_EQ(result, change_result::done);
    result = co_await at.kept->remove_task(made.id, at.now);
    EXPECT_EQ(result, change_result::not_found);
    const std::optional<task_detail> gone = co_await at.kept->find(made.id);
    EXPECT_FALSE(gone.has_value());
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::failed), 0U);
    EXPECT_EQ(queue.count(task_state::pending), 1U);
    // Its keys are free.
    const submit_result again = co_await at.submit(fresh);
    EXPECT_EQ(again.what, submit_result::verdict::made);
}

WEIR_STORE_TEST(StorePages, TheDefaultQueueAlwaysHasRoom) {
    for (std::size_t i = 0; i < default_max_queues; i += 250) {
        std::vector<new_task> strays;
        for (std::size_t j = i; j < i + 250; ++j) {
            strays.push_back(bench::make("", "stray " + std::to_string(j)));
        }
        co_await at.kept->submit(std::move(strays), at.now);
    }
    const submit_result refused = co_await at.submit(bench::make("", "one more"));
    EXPECT_EQ(refused.what, submit_result::verdict::too_many_queues);
    const submit_result taken = co_await at.submit(bench::make());
    EXPECT_EQ(taken.what, submit_result::verdict::made);
}

WEIR_STORE_TEST(StorePages, AProbeChangesNothing) {
    co_await at.beat("a", 1h);
    const std::vector<task_id> ids = co_await at.submit_many(2);
    co_await at.kept->probe(at.now);
    const task_record still = co_await at.look(ids[0]);
    EXPECT_EQ(still.state, task_state::pending);
    EXPECT_EQ(still.run, 0U);
    const claimed runs = co_await at.claim(5);
    EXPECT_EQ(runs.tasks.size(), 2U);
}

}  // namespace
