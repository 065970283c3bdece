// SPDX-License-Identifier: MIT
// The store in memory: inserts once, fences transitions and removals, lists in order.

#include "support.hpp"

#include <weir/flow/task_store.hpp>

namespace {

using namespace flow_tests;
using weir::managed_task;
using weir::memory_task_store;
using weir::task_state;

managed_task named(std::string id, std::uint64_t token) {
    managed_task record;
    record.id = std::move(id);
    record.token = token;
    return record;
}

WEIR_TEST(TaskStore, InsertsAnIdOnce) {
    memory_task_store store;
    const bool first = co_await store.insert(named("a", 1));
    const bool second = co_await store.insert(named("a", 2));
    EXPECT_TRUE(first);
    EXPECT_FALSE(second);
    const auto stored = co_await store.get("a");
    WEIR_ASSERT_TRUE(stored.has_value());
    EXPECT_EQ(stored->token, 1u);
    const auto unknown = co_await store.get("b");
    EXPECT_FALSE(unknown.has_value());
}

WEIR_TEST(TaskStore, FencesTransitions) {
    memory_task_store store;
    managed_task record = named("a", 1);
    (void)co_await store.insert(record);
    record.state = task_state::running;
    record.revision = 1;
    const bool wrong_state = co_await store.transition(record, task_state::running);
    EXPECT_FALSE(wrong_state);
    managed_task other = record;
    other.token = 2;
    const bool wrong_token = co_await store.transition(other, task_state::pending);
    EXPECT_FALSE(wrong_token);
    const bool done = co_await store.transition(record, task_state::pending);
    EXPECT_TRUE(done);
    const bool again = co_await store.transition(record, task_state::pending);
    EXPECT_FALSE(again);
}

WEIR_TEST(TaskStore, SavesProgressOfThisRevisionOnly) {
    memory_task_store store;
    managed_task record = named("a", 1);
    (void)co_await store.insert(record);
    record.progress = 0.5;
    co_await store.save_progress(record);
    auto stored = co_await store.get("a");
    EXPECT_EQ(stored->progress, 0.5);
    record.progress = 0.7;
    record.revision = 1;
    co_await store.save_progress(record);
    stored = co_await store.get("a");
    EXPECT_EQ(stored->progress, 0.5);
}

WEIR_TEST(TaskStore, ListsPagesInOrderOfSubmission) {
    memory_task_store store;
    for (const char* id : {"c", "a", "b"}) {
        (void)co_await store.insert(named(id, 1));
    }
    weir::task_query query;
    query.limit = 2;
    const auto first = co_await store.list(query);
    WEIR_ASSERT_EQ(first.size(), 2u);
    EXPECT_EQ(first[0].id, "c");
    EXPECT_EQ(first[1].id, "a");
    query.after = "a";
    const auto second = co_await store.list(query);
    WEIR_ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].id, "b");
}

WEIR_TEST(TaskStore, RemovesOnlyTheRecordGiven) {
    memory_task_store store;
    (void)co_await store.insert(named("a", 1));
    const bool newer = co_await store.remove(named("a", 2));
    EXPECT_FALSE(newer);
    EXPECT_EQ(store.size(), 1u);
    const bool removed = co_await store.remove(named("a", 1));
    EXPECT_TRUE(removed);
    const bool is_gone = co_await store.remove(named("a", 1));
    EXPECT_TRUE(is_gone);
    EXPECT_EQ(store.size(), 0u);
}

}  // namespace
