// SPDX-License-Identifier: MIT
#include "service/engine/scheduler.hpp"

#include "components.hpp"

#include <weir/service/cron.hpp>

#include <functional>
#include <stdexcept>

namespace weir::service::testing {
namespace {

schedule every_minute() {
    schedule definition;
    definition.name = "minutely";
    definition.cron = "* * * * *";
    definition.task = new_task("work");
    return definition;
}

task<> put(components& parts, schedule plan) {
    const timestamp next = cron::parse(plan.cron).next_after(parts.time.now(), plan.zone);
    co_await parts.memory.put_schedule(std::move(plan), next);
}

WEIR_TEST(Scheduler, MakesATaskForEachSlot) {
    components parts;
    co_await put(parts, every_minute());
    const handle<> scheduling = weir::spawn(parts.scheduler.run());
    co_await sleep(3min + 1s);
    const std::vector<task_record> record = co_await parts.memory.list({}, parts.time.now());
    EXPECT_EQ(record.size(), 3u);
    EXPECT_EQ(parts.stats().submitted, 3u);
    EXPECT_TRUE(parts.trigger.is_wanted());
    scheduling.cancel();
    co_await scheduling.wait();
}

WEIR_TEST(Scheduler, WaitsWhileTheQueueIsFull) {
    components parts;
    queue_limits limits;
    limits.max_pending = 1;
    co_await parts.memory.limit("default", limits);
    co_await put(parts, every_minute());
    const handle<> scheduling = weir::spawn(parts.scheduler.run());
    co_await sleep(2min + 30s);
    EXPECT_EQ(parts.stats().submitted, 1u);
    EXPECT_GE(parts.logged("its queue is full"), 1u);
    scheduling.cancel();
    co_await scheduling.wait();
}

WEIR_TEST(Scheduler, FiresTheOthersIfOneCannotBeFired) {
    components parts;
    schedule unknown_zone = every_minute();
    unknown_zone.name = "a";
    unknown_zone.zone = "Nowhere/Land";
    co_await parts.memory.put_schedule(unknown_zone, parts.time.now());
    co_await put(parts, every_minute());
    const handle<> scheduling = weir::spawn(parts.scheduler.run());
    co_await sleep(1min + 1s);
    EXPECT_EQ(parts.stats().submitted, 1u);
    EXPECT_GE(parts.logged("the schedule 'a' cannot be fired"), 1u);
    scheduling.cancel();
    co_await scheduling.wait();
}

// Runs the scheduler beside a body.
task<> while_scheduling(components& parts, std::function<task<>()> body) {
    const handle<> scheduling = weir::spawn(parts.scheduler.run());
    co_await body();
    scheduling.cancel();
    co_await scheduling.wait();
}

task<std::vector<task_record>> all_tasks(components& parts) {
    std::vector<task_record> found = co_await parts.memory.list({}, parts.time.now());
    co_return found;
}

WEIR_TEST(Scheduler, LooksEveryTenSecondsAndWhenItIsWoken) {
    components parts;
    auto body = [&]() -> task<> {
        co_await sleep(35s);
        EXPECT_EQ(parts.connection.calls(store_call::schedules), 4);
        co_await put(parts, every_minute());  // by another node
        co_await sleep(30s);
        EXPECT_EQ(parts.stats().submitted, 1u);
        const int before = parts.connection.calls(store_call::schedules);
        parts.scheduler.wake();
        co_await settle_all();
        EXPECT_EQ(parts.connection.calls(store_call::schedules), before + 1);
    };
    co_await while_scheduling(parts, body);
}

WEIR_TEST(Scheduler, FiresASlotWhenItComes) {
    components parts;
    co_await put(parts, every_minute());
    auto body = [&]() -> task<> {
        co_await sleep(1min - 1ms);
        EXPECT_EQ(parts.stats().submitted, 0u);
        co_await sleep(1ms);
        co_await settle_all();
        EXPECT_EQ(parts.stats().submitted, 1u);
        const std::vector<task_record> made = co_await all_tasks(parts);
        EXPECT_EQ(made.at(0).run_at, parts.time.now());
        EXPECT_EQ(made.at(0).created_at, parts.time.now());
        const std::vector<schedule_record> all = co_await parts.memory.schedules();
        EXPECT_EQ(all.at(0).next_slot, parts.time.now() + 1min);
    };
    co_await while_scheduling(parts, body);
}

// A slot that is fired a minute late or less is not missed.
WEIR_TEST(Scheduler, AMissedSlotIsMoreThanAMinuteLate) {
    for (const bool skips : {true, false}) {
        for (const clock::duration late : {clock::duration(1min), clock::duration(1min + 1ms)}) {
            components parts;
            schedule hourly = every_minute();
            hourly.cron = "0 * * * *";
            hourly.missed = skips ? missed_slots::skip : missed_slots::run_latest;
            co_await put(parts, hourly);
            co_await sleep(1h + late);
            parts.trigger.claim_begins();
            auto body = [&]() -> task<> {
                co_await settle_all();
                const std::size_t expected = skips && late > 1min ? 0 : 1;
                EXPECT_EQ(parts.stats().submitted, expected);
                EXPECT_EQ(parts.trigger.is_wanted(), expected == 1);
                const std::vector<task_record> made = co_await all_tasks(parts);
                EXPECT_EQ(made.size(), expected);
                const std::vector<schedule_record> all = co_await parts.memory.schedules();
                EXPECT_GT(all.at(0).next_slot, parts.time.now()) << "it goes on";
            };
            co_await while_scheduling(parts, body);
        }
    }
}

WEIR_TEST(Scheduler, OfSeveralMissedSlotsTheLatestIsRun) {
    components parts;
    const timestamp begun = parts.time.now();
    co_await put(parts, every_minute());
    co_await sleep(5min + 30s);
    auto body = [&]() -> task<> {
        co_await settle_all();
        const std::vector<task_record> made = co_await all_tasks(parts);
        WEIR_ASSERT_EQ(made.size(), 1u);
        EXPECT_EQ(made[0].run_at, begun + 5min);
        co_await sleep(30s);
        co_await settle_all();
        EXPECT_EQ(parts.stats().submitted, 2u);
    };
    co_await while_scheduling(parts, body);
}

WEIR_TEST(Scheduler, APausedScheduleMakesNothing) {
    components parts;
    schedule paused = every_minute();
    paused.is_paused = true;
    co_await put(parts, paused);
    schedule other = every_minute();
    other.name = "other";
    co_await put(parts, other);
    auto body = [&]() -> task<> {
        co_await sleep(2min + 1s);
        EXPECT_EQ(parts.stats().submitted, 2u);
        const std::vector<schedule_record> all = co_await parts.memory.schedules();
        EXPECT_FALSE(all.at(0).last_slot.has_value());
        EXPECT_EQ(parts.connection.calls(store_call::fire), 2);
    };
    co_await while_scheduling(parts, body);
}

// Another node has fired the slot between the look and the call.
WEIR_TEST(Scheduler, CountsOnlyWhatItHasMade) {
    components parts;
    co_await put(parts, every_minute());
    const timestamp slot = parts.time.now() + 1min;
    parts.connection.delay_questions(
        [](store_call which) { return which == store_call::fire ? 1s : 0s; });
    parts.trigger.claim_begins();
    auto body = [&]() -> task<> {
        co_await sleep(1min + 500ms);
        std::optional<new_task> fresh(new_task("work"));
        co_await parts.memory.fire("minutely", slot, slot + 1min, fresh, parts.time.now());
        co_await sleep(1s);
        EXPECT_EQ(parts.stats().submitted, 0u);
        EXPECT_FALSE(parts.trigger.is_wanted());
        const std::vector<task_record> made = co_await all_tasks(parts);
        EXPECT_EQ(made.size(), 1u);
    };
    co_await while_scheduling(parts, body);
}

WEIR_TEST(Scheduler, LooksAgainSoonAfterAFailure) {
    for (const bool is_broken : {false, true}) {
        components parts;
        int left = 3;
        parts.memory.on_call([&](store_call which) -> store_fault {
            if (which != store_call::schedules || left-- <= 0) {
                return store_fault::none;
            }
            if (is_broken) {
                throw std::logic_error("no such table");
            }
            return store_fault::fails;
        });
        auto body = [&]() -> task<> {
            co_await settle_all();
            EXPECT_EQ(parts.connection.calls(store_call::schedules), 1);
            co_await sleep(1s);
            EXPECT_EQ(parts.connection.calls(store_call::schedules), 4);
            EXPECT_EQ(parts.logged("firing schedules failed: no such table"), is_broken ? 3u : 0u);
            co_await sleep(8s);
            EXPECT_EQ(parts.connection.calls(store_call::schedules), 4);
            left = 1;
            co_await sleep(2s);
            EXPECT_EQ(parts.connection.calls(store_call::schedules), 6) << "the delay begins anew";
        };
        co_await while_scheduling(parts, body);
    }
}

// The store fails while a slot is fired: the rest waits for the next look, and nothing is lost.
WEIR_TEST(Scheduler, AStoreThatIsAwayIsNotAskedForTheOthers) {
    components parts;
    for (const char* const name : {"a", "b", "c"}) {
        schedule plan = every_minute();
        plan.name = name;
        co_await put(parts, plan);
    }
    int fires = 0;
    parts.memory.on_call([&](store_call which) {
        return which == store_call::fire && ++fires == 1 ? store_fault::fails : store_fault::none;
    });
    auto body = [&]() -> task<> {
        co_await sleep(1min);
        co_await settle_all();
        EXPECT_EQ(fires, 1);
        co_await sleep(100ms);
        EXPECT_EQ(fires, 4);
        EXPECT_EQ(parts.stats().submitted, 3u);
        EXPECT_EQ(parts.logged("cannot be fired"), 0u);
    };
    co_await while_scheduling(parts, body);
}

WEIR_TEST(Scheduler, WaitsWhileItsQueueWouldBeOneTooMany) {
    memory_store small({}, 1);
    components parts;
    detail::store_client client(small, 1s, parts.log);
    detail::scheduler scheduler(client, parts.time, parts.log, parts.handlers, parts.trigger);
    co_await small.pause("other", true);
    schedule plan = every_minute();
    plan.task.queue = "another";
    co_await small.put_schedule(plan, parts.time.now());
    const handle<> scheduling = weir::spawn(scheduler.run());
    co_await sleep(15s);
    EXPECT_EQ(parts.logged("the schedule 'minutely' waits: its queue would exceed max_queues"), 2u);
    service_stats stats;
    scheduler.add_to(stats);
    EXPECT_EQ(stats.submitted, 0u);
    scheduling.cancel();
    co_await scheduling.wait();
}

}  // namespace
}  // namespace weir::service::testing
