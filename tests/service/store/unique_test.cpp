// SPDX-License-Identifier: MIT
// Unique keys: held while a task is pending or running, or while it is pending.

#include "stores.hpp"

namespace {

using namespace store_test;
using verdict = submit_result::verdict;

WEIR_STORE_SUITE(StoreUnique);

new_task with_key(unique_while span = unique_while::pending_or_running) {
    new_task fresh = bench::make();
    fresh.unique_key = "report";
    fresh.unique_for = span;
    return fresh;
}

WEIR_STORE_TEST(StoreUnique, AKeyIsHeldUntilItsTaskHasEnded) {
    co_await at.beat("a", 1h);
    const submit_result first = co_await at.submit(with_key());
    EXPECT_EQ(first.what, verdict::made);
    new_task other = with_key();
    other.payload = "7";
    submit_result second = co_await at.submit(other);
    EXPECT_EQ(second.what, verdict::duplicate);
    EXPECT_EQ(second.id, first.id);
    claimed runs = co_await at.claim(1);
    WEIR_ASSERT_EQ(runs.tasks.size(), 1U);
    EXPECT_EQ(runs.tasks[0].unique_key, "report");
    second = co_await at.submit(other);
    EXPECT_EQ(second.what, verdict::duplicate) << "while it runs";
    co_await at.settle(at.again(runs.tasks[0], 3s));
    second = co_await at.submit(other);
    EXPECT_EQ(second.what, verdict::duplicate) << "while it waits for a retry";
    at.now += 3s;
    runs = co_await at.claim(1);
    co_await at.complete(runs.tasks);
    second = co_await at.submit(other);
    EXPECT_EQ(second.what, verdict::made);
    co_await at.kept->cancel(second.id, at.now);
    const submit_result third = co_await at.submit(other);
    EXPECT_EQ(third.what, verdict::made) << "after a cancel";
}

WEIR_STORE_TEST(StoreUnique, AKeyMayBeHeldUntilTheStart) {
    co_await at.beat("a", 1h);
    const submit_result first = co_await at.submit(with_key(unique_while::pending));
    submit_result second = co_await at.submit(with_key(unique_while::pending));
    EXPECT_EQ(second.id, first.id);
    const claimed runs = co_await at.claim(1);
    WEIR_ASSERT_EQ(runs.tasks.size(), 1U);
    EXPECT_EQ(runs.tasks[0].unique_for, unique_while::pending);
    second = co_await at.submit(with_key(unique_while::pending));
    EXPECT_EQ(second.what, verdict::made);
}

WEIR_STORE_TEST(StoreUnique, ARetryDoesNotMakeTwoHolders) {
    const submit_result first = co_await at.submit(with_key());
    co_await at.kept->cancel(first.id, at.now);
    const submit_result second = co_await at.submit(with_key());
    EXPECT_EQ(second.what, verdict::made);
    change_result retried = co_await at.kept->retry(first.id, at.now);
    EXPECT_EQ(retried, change_result::key_taken);
    co_await at.kept->cancel(second.id, at.now);
    retried = co_await at.kept->retry(first.id, at.now);
    EXPECT_EQ(retried, change_result::done);
    const submit_result third = co_await at.submit(with_key());
    EXPECT_EQ(third.what, verdict::duplicate);
    EXPECT_EQ(third.id, first.id);
}

WEIR_STORE_TEST(StoreUnique, APurgedTaskHoldsNothing) {
    const submit_result first = co_await at.submit(with_key());
    co_await at.kept->cancel(first.id, at.now);
    at.now += 30 * 24h;
    const std::size_t removed = co_await at.kept->purge({}, at.now);
    EXPECT_EQ(removed, 1U);
    const submit_result second = co_await at.submit(with_key());
    EXPECT_EQ(second.what, verdict::made);
}

}  // namespace
