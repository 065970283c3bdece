// SPDX-License-Identifier: MIT
// Schedules that run at a client's request, are paused, or meet their last task.

#include "stores.hpp"

namespace {

using namespace store_test;
using verdict = submit_result::verdict;

WEIR_STORE_SUITE(Schedules);

schedule plan_with(overlap_policy overlap) {
    schedule plan;
    plan.name = "s";
    plan.cron = "@every 10s";
    plan.overlap = overlap;
    plan.task = bench::make();
    return plan;
}

// Fires the slot at which the schedule is, and moves it by ten seconds.
task<submit_result> fire(bench& at) {
    const std::vector<schedule_record> all = co_await at.kept->schedules();
    std::optional<new_task> fresh(all.at(0).task);
    fresh->run_at = all.at(0).next_slot;
    const std::optional<submit_result> fired =
        co_await at.kept->fire("s", all.at(0).next_slot, all.at(0).next_slot + 10s, fresh, at.now);
    EXPECT_TRUE(fired.has_value());
    co_return fired.value_or(submit_result());
}

task<schedule_record> look_at(bench& at) {
    const std::vector<schedule_record> all = co_await at.kept->schedules();
    co_return all.at(0);
}

WEIR_STORE_TEST(Schedules, QueueSlotsByDefault) {
    const timestamp slot = at.now;
    co_await at.kept->put_schedule(plan_with(schedule().overlap), slot);
    const submit_result first = co_await fire(at);
    const submit_result second = co_await fire(at);
    EXPECT_EQ(first.what, verdict::made);
    EXPECT_EQ(second.what, verdict::made);
    const schedule_record record = co_await look_at(at);
    EXPECT_EQ(record.overlap, overlap_policy::queue);
    EXPECT_EQ(record.last_task, second.id);
    EXPECT_EQ(record.last_state, task_state::pending);
    EXPECT_EQ(record.next_slot, slot + 20s);
}

WEIR_STORE_TEST(Schedules, SkipASlotWhileTheLastTaskIsOpen) {
    const timestamp slot = at.now;
    co_await at.kept->put_schedule(plan_with(overlap_policy::skip), slot);
    if (at.kind->is_lasting) {
        co_await at.reopen();
    }
    const submit_result first = co_await fire(at);
    EXPECT_EQ(first.what, verdict::made);
    submit_result skipped = co_await fire(at);  // pending
    EXPECT_EQ(skipped.what, verdict::overlap);
    EXPECT_EQ(skipped.id, first.id);
    co_await at.beat("a", 1h);
    const claimed run = co_await at.claim(1);
    skipped = co_await fire(at);  // running
    EXPECT_EQ(skipped.what, verdict::overlap);
    schedule_record record = co_await look_at(at);
    EXPECT_EQ(record.last_state, task_state::running);
    EXPECT_EQ(record.last_slot, slot);
    EXPECT_EQ(record.next_slot, slot + 30s);
    co_await at.complete(run.tasks);
    const submit_result next = co_await fire(at);
    EXPECT_EQ(next.what, verdict::made);
    EXPECT_NE(next.id, first.id);
    record = co_await look_at(at);
    EXPECT_EQ(record.last_slot, slot + 30s);
    const queue_record queue = co_await at.queue();
    EXPECT_EQ(queue.count(task_state::pending), 1U);
}

WEIR_STORE_TEST(Schedules, ReplaceTheLastTaskIfItIsOpen) {
    queue_limits limits;
    limits.max_pending = 1;  // only the task that is replaced is in the way
    co_await at.kept->limit("default", limits);
    schedule plan = plan_with(overlap_policy::replace);
    plan.task.on_failure = callback("https://example.com/replaced");
    plan.task.on_failure.queue = "hooks";
    co_await at.kept->put_schedule(plan, at.now);
    const submit_result first = co_await fire(at);
    const submit_result second = co_await fire(at);
    EXPECT_EQ(second.what, verdict::made);
    EXPECT_FALSE(second.replaced) << "it did not run";
    const task_record cancelled = co_await at.look(first.id);
    EXPECT_EQ(cancelled.state, task_state::cancelled);
    const queue_record hooks = co_await at.queue("hooks");
    EXPECT_EQ(hooks.count(task_state::pending), 1U) << "a replaced task has ended";
    co_await at.kept->pause("hooks", true);
    co_await at.beat("a", 1h);
    at.now += 60s;  // the slots have come
    const claimed run = co_await at.claim(1);
    WEIR_ASSERT_EQ(run.tasks.size(), 1U);
    const submit_result third = co_await fire(at);
    EXPECT_EQ(third.what, verdict::made);
    EXPECT_EQ(third.replaced, second.id);
    const heartbeat_answer beat = co_await at.beat("a", 1h);
    WEIR_ASSERT_EQ(beat.cancelling.size(), 1U);
    EXPECT_EQ(beat.cancelling[0].id, second.id);
    co_await at.settle(bench::ending(run.tasks[0], task_state::cancelled));
    // A task that has ended is not touched.
    const claimed last = co_await at.claim(1);
    co_await at.complete(last.tasks);
    const submit_result fourth = co_await fire(at);
    EXPECT_FALSE(fourth.replaced);
    const task_record completed = co_await at.look(third.id);
    EXPECT_EQ(completed.state, task_state::completed);
}

WEIR_STORE_TEST(Schedules, RunWithoutMovingTheSlot) {
    const timestamp slot = at.now + 1h;
    schedule plan = plan_with(overlap_policy::skip);
    plan.is_paused = true;
    co_await at.kept->put_schedule(plan, slot);
    const auto unknown = co_await at.kept->run_schedule("other", plan.task, at.now);
    EXPECT_FALSE(unknown.has_value());
    const auto made = co_await at.kept->run_schedule("s", plan.task, at.now);
    WEIR_ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->what, verdict::made);
    schedule_record record = co_await look_at(at);
    EXPECT_EQ(record.next_slot, slot);
    EXPECT_FALSE(record.last_slot.has_value());
    EXPECT_EQ(record.last_task, made->id);
    const auto overlapping = co_await at.kept->run_schedule("s", plan.task, at.now);
    EXPECT_EQ(overlapping->what, verdict::overlap);
    EXPECT_EQ(overlapping->id, made->id);
    co_await at.kept->cancel(made->id, at.now);
    co_await at.kept->remove_task(made->id, at.now);
    record = co_await look_at(at);
    EXPECT_EQ(record.last_task, made->id);
    EXPECT_FALSE(record.last_state.has_value());
    queue_limits limits;
    limits.max_pending = 1;
    co_await at.kept->limit("default", limits);
    co_await at.submit(bench::make());
    const auto refused = co_await at.kept->run_schedule("s", plan.task, at.now);
    EXPECT_EQ(refused->what, verdict::queue_full);
    record = co_await look_at(at);
    EXPECT_EQ(record.last_task, made->id);
}

WEIR_STORE_TEST(Schedules, ContinueWithTheNextSlotAfterAPause) {
    const timestamp slot = at.now;
    co_await at.kept->put_schedule(plan_with(overlap_policy::queue), slot);
    const bool unknown = co_await at.kept->pause_schedule("other", true, slot);
    EXPECT_FALSE(unknown);
    const bool active = co_await at.kept->pause_schedule("s", false, slot + 1h);
    EXPECT_TRUE(active);
    schedule_record record = co_await look_at(at);
    EXPECT_EQ(record.next_slot, slot) << "it was not paused";
    const bool paused = co_await at.kept->pause_schedule("s", true, slot + 1h);
    EXPECT_TRUE(paused);
    record = co_await look_at(at);
    EXPECT_TRUE(record.is_paused);
    EXPECT_EQ(record.next_slot, slot);
    const std::optional<new_task> fresh(record.task);
    const auto fired = co_await at.kept->fire("s", slot, slot + 10s, fresh, at.now);
    EXPECT_FALSE(fired.has_value());
    co_await at.kept->pause_schedule("s", false, slot + 1h);
    record = co_await look_at(at);
    EXPECT_FALSE(record.is_paused);
    EXPECT_EQ(record.next_slot, slot + 1h);
}

}  // namespace
