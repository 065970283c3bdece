// SPDX-License-Identifier: MIT
// Leases, in stores whose nodes do not agree on the time: a node that was found dead by a clock
// that is ahead stays dead for its own, and its tasks are lost to nobody.

#include "stores.hpp"

namespace {

using namespace store_test;

WEIR_STORE_SUITE(StoreLeases);

// A node whose clock is ahead finds that the lease of `a` is over, and takes its tasks. By its own
// clock, `a` still has a lease.
WEIR_STORE_TEST(StoreLeases, ARescuedNodeIsDeadForItsOwnClockToo) {
    co_await at.submit_many(3);
    co_await at.beat("a", 10s);
    const claimed first = co_await at.claim(1, "a");
    WEIR_ASSERT_EQ(first.tasks.size(), 1U);
    const rescue_result rescued = co_await at.kept->rescue(at.now + 11s, 3);
    EXPECT_EQ(rescued.returned, 1U);
    at.now += 1s;
    const claimed late = co_await at.claim(5, "a");
    EXPECT_TRUE(late.tasks.empty()) << "a task of a dead node would run for ever";
    EXPECT_FALSE(late.next_at.has_value());
    const heartbeat_answer answer = co_await at.beat("a", 10s);
    EXPECT_FALSE(answer.is_alive);
    const bool is_written = co_await at.settle(bench::ending(first.tasks[0], task_state::failed));
    EXPECT_FALSE(is_written);
    const std::vector<run_key> runs = co_await at.kept->running_on("a");
    EXPECT_TRUE(runs.empty());
    const std::vector<node_record> nodes = co_await at.kept->nodes();
    EXPECT_TRUE(nodes.empty());
    co_await at.beat("b", 1h);
    at.now += 11s;  // the rescued task is due at the time of the clock that was ahead
    const claimed all = co_await at.claim(5, "b");
    EXPECT_EQ(all.tasks.size(), 3U);
}

// The same if the node had no task when it was found dead.
WEIR_STORE_TEST(StoreLeases, ANodeWithoutTasksThatIsFoundDeadIsDead) {
    co_await at.submit_many(1);
    co_await at.beat("a", 10s);
    co_await at.kept->rescue(at.now + 10s, 3);
    const claimed none = co_await at.claim(1, "a");
    EXPECT_TRUE(none.tasks.empty());
    const heartbeat_answer answer = co_await at.beat("a", 10s);
    EXPECT_FALSE(answer.is_alive);
}

WEIR_STORE_TEST(StoreLeases, ALeaseLastsUntilItsEndAndNotLonger) {
    co_await at.submit_many(3);
    const timestamp begun = at.now;
    co_await at.beat("a", 10s);
    at.now = begun + 10s - 1us;
    const rescue_result early = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(early.returned + early.failed + early.cancelled, 0U);
    claimed one = co_await at.claim(1, "a");
    EXPECT_EQ(one.tasks.size(), 1U);
    const heartbeat_answer renewed = co_await at.beat("a", 10s);
    EXPECT_TRUE(renewed.is_alive);
    std::vector<node_record> nodes = co_await at.kept->nodes();
    WEIR_ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].expires_at, at.now + 10s);
    at.now += 10s;
    const claimed none = co_await at.claim(1, "a");
    EXPECT_TRUE(none.tasks.empty());
    const heartbeat_answer over = co_await at.beat("a", 10s);
    EXPECT_FALSE(over.is_alive);
    nodes = co_await at.kept->nodes();
    EXPECT_EQ(nodes.at(0).expires_at, at.now) << "a late heartbeat renews nothing";
    const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(rescued.returned, 1U);
}

// A heartbeat that comes after a later one, or from a clock that was set back.
WEIR_STORE_TEST(StoreLeases, NoHeartbeatShortensALease) {
    co_await at.beat("a", 1h);
    const heartbeat_answer late = co_await at.beat("a", 10s);
    EXPECT_TRUE(late.is_alive);
    std::vector<node_record> nodes = co_await at.kept->nodes();
    EXPECT_EQ(nodes.at(0).expires_at, at.now + 1h);
    co_await at.beat("a", 2h);
    nodes = co_await at.kept->nodes();
    EXPECT_EQ(nodes.at(0).expires_at, at.now + 2h);
}

// The process is the same only if host, number and start are.
WEIR_STORE_TEST(StoreLeases, AnotherProcessWithTheSameNameIsRefused) {
    node_record original = bench::node("a", at.now + 10s);
    original.started_at = at.now;
    const heartbeat_answer first = co_await at.kept->heartbeat(original, at.now);
    EXPECT_TRUE(first.is_alive);
    node_record other = original;
    other.host = "elsewhere";
    heartbeat_answer answer = co_await at.kept->heartbeat(other, at.now);
    EXPECT_FALSE(answer.is_alive);
    other = original;
    other.pid = 8;
    answer = co_await at.kept->heartbeat(other, at.now);
    EXPECT_FALSE(answer.is_alive);
    other = original;
    other.started_at = at.now + 1us;
    answer = co_await at.kept->heartbeat(other, at.now);
    EXPECT_FALSE(answer.is_alive);
    answer = co_await at.kept->heartbeat(original, at.now);
    EXPECT_TRUE(answer.is_alive);
}

WEIR_STORE_TEST(StoreLeases, ARetiredNodeCanReturnItsTasksAndTakeNone) {
    co_await at.submit_many(3);
    co_await at.beat("a", 1h);
    const claimed some = co_await at.claim(2, "a");
    co_await at.kept->retire("a");
    co_await at.kept->retire("nobody");
    const claimed none = co_await at.claim(1, "a");
    EXPECT_TRUE(none.tasks.empty());
    const heartbeat_answer answer = co_await at.beat("a", 1h);
    EXPECT_FALSE(answer.is_alive);
    const std::vector<run_key> runs = co_await at.kept->running_on("a");
    EXPECT_EQ(runs.size(), 2U);
    const std::vector<node_record> nodes = co_await at.kept->nodes();
    EXPECT_TRUE(nodes.empty());
    const bool is_written = co_await at.settle(bench::ending(some.tasks[0], task_state::completed));
    EXPECT_TRUE(is_written);
    const rescue_result rescued = co_await at.kept->rescue(at.now, 3);
    EXPECT_EQ(rescued.returned, 1U);
    const task_record done = co_await at.look(some.tasks[0].id);
    EXPECT_EQ(done.state, task_state::completed);
}

// What a rescue leaves in each record.
WEIR_STORE_TEST(StoreLeases, ARescueSaysWhatHappened) {
    std::vector<new_task> fresh(3, bench::make("key"));
    fresh[0].priority = 5;
    const auto submitted = co_await at.kept->submit(fresh, at.now);
    co_await at.beat("a", 10s);
    const claimed all = co_await at.claim(3, "a");
    WEIR_ASSERT_EQ(all.tasks.size(), 3U);
    const timestamp begun = at.now;
    co_await at.kept->cancel(submitted[1].id, at.now);
    at.now += 20s;
    const rescue_result rescued = co_await at.kept->rescue(at.now, 2);
    EXPECT_EQ(rescued.returned, 2U);
    EXPECT_EQ(rescued.cancelled, 1U);
    EXPECT_EQ(rescued.failed, 0U);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto found = co_await at.kept->find(submitted[i].id);
        const task_record& task = found->task;
        EXPECT_EQ(task.state, i == 1 ? task_state::cancelled : task_state::pending);
        EXPECT_EQ(task.finished_at.has_value(), i == 1);
        EXPECT_FALSE(task.is_cancelling);
        EXPECT_EQ(task.crashes, 1U);
        EXPECT_EQ(task.due_at, i == 1 ? begun : at.now);
        WEIR_ASSERT_EQ(found->attempts.size(), 1U);
        EXPECT_EQ(found->attempts[0].run, 1U);
        EXPECT_EQ(found->attempts[0].end, attempt_end::crashed);
        EXPECT_EQ(found->attempts[0].started_at, begun);
        EXPECT_EQ(found->attempts[0].ended_at, at.now);
        EXPECT_EQ(found->attempts[0].node, "a");
        EXPECT_EQ(found->attempts[0].error, "the process that ran the task has ended");
    }
    co_await at.beat("b", 10s);
    const claimed again = co_await at.claim(3, "b");
    WEIR_ASSERT_EQ(again.tasks.size(), 2U);
    EXPECT_EQ(again.tasks[0].id, submitted[0].id) << "its priority counts as before";
    at.now += 10s;
    const rescue_result last = co_await at.kept->rescue(at.now, 2);
    EXPECT_EQ(last.failed, 2U);
    const task_record failed = co_await at.look(submitted[0].id);
    EXPECT_EQ(failed.state, task_state::failed);
    EXPECT_EQ(failed.error, "the process that ran the task has ended, for the 2nd time");
    EXPECT_EQ(failed.finished_at, at.now);
}

// More tasks than a rescue takes in one step, exactly as many, and one fewer.
WEIR_STORE_TEST(StoreLeases, ARescueInStepsTakesAll) {
    for (const std::size_t count : {499U, 500U, 501U, 1000U}) {
        const std::string name = "node " + std::to_string(count);
        co_await at.submit_many(count);
        co_await at.beat(name, 10s);
        const claimed all = co_await at.claim(count, name);
        EXPECT_EQ(all.tasks.size(), count);
        at.now += 10s;
        const rescue_result rescued = co_await at.kept->rescue(at.now, 2);
        EXPECT_EQ(rescued.returned, count);
        const heartbeat_answer answer = co_await at.beat(name);
        EXPECT_FALSE(answer.is_alive);
        const std::vector<node_record> nodes = co_await at.kept->nodes();
        EXPECT_TRUE(nodes.empty());
        const std::string next = "next " + std::to_string(count);
        co_await at.beat(next, 10s);
        const claimed again = co_await at.claim(2000, next);
        EXPECT_EQ(again.tasks.size(), count);
        co_await at.complete(again.tasks, next);
    }
}

}  // namespace
