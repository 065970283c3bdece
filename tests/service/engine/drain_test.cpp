// SPDX-License-Identifier: MIT
// The end of a service, and schedules: runs are awaited, stopped and returned; slots are neither
// missed nor fired twice.

#include "process.hpp"

#include <set>

namespace weir::service::testing {
namespace {

task<json> nothing(job&) {
    co_return nullptr;
}

WEIR_TEST(ServiceDrains, WaitsForWhatRunsAndClaimsNoMore) {
    memory_store store;
    service tasks(store, {.workers = 1});
    tasks.handle("work", [](job&) -> task<json> {
        co_await sleep(10s);
        co_return nullptr;
    });
    started running(tasks);
    const task_id first = co_await submit(tasks, "work");
    const task_id second = co_await submit(tasks, "work");
    co_await advance(1s);
    running.stop();
    co_await advance(1s);
    const task_id late = co_await submit(tasks, "work");  // accepted, for the next service
    co_await advance(7s);
    EXPECT_FALSE(running.has_ended());
    EXPECT_TRUE(tasks.stats().is_draining);
    co_await advance(1500ms);
    EXPECT_TRUE(running.has_ended());
    const task_record done = co_await record_of(store, first);
    EXPECT_EQ(done.state, task_state::completed);
    for (const task_id each : {second, late}) {
        const task_record waits = co_await record_of(store, each);
        EXPECT_EQ(waits.state, task_state::pending);
        EXPECT_EQ(waits.run, 0u);
    }
    started again(tasks);  // it can run again
    co_await advance(25s);
    EXPECT_EQ(tasks.stats().completed, 3u);
    co_await again.end();
}

WEIR_TEST(ServiceDrains, WhatTakesTooLongIsGivenBackWithoutSpendingAnAttempt) {
    memory_store store;
    service tasks(store, {.drain_limit = 5s});
    int cleaned = 0;
    tasks.handle("work", [&](job& what) -> task<json> {
        EXPECT_EQ(what.attempt(), 1u);
        auto clean = [&]() -> task<> {
            co_await sleep(1s);
            ++cleaned;
        };
        co_await finally(sleep(1h), clean);
        co_return nullptr;
    });
    started running(tasks);
    new_task only("work");
    only.retry.max_attempts = 1;
    const task_id id = co_await submit(tasks, only);
    co_await advance(1s);
    running.stop();
    co_await advance(5500ms);
    EXPECT_FALSE(running.has_ended()) << "its clean-up is waited for";
    co_await advance(600ms);
    EXPECT_TRUE(running.has_ended());
    EXPECT_EQ(cleaned, 1);
    const task_record back = co_await record_of(store, id);
    EXPECT_EQ(back.state, task_state::pending);
    EXPECT_EQ(back.failures, 0u);
    EXPECT_EQ(back.crashes, 0u);
    EXPECT_EQ(back.due_at, tasks.now() - 100ms);
    const std::vector<attempt_record> history = co_await attempts_of(store, id);
    EXPECT_TRUE(history.empty());
}

WEIR_TEST(ServiceDrains, ASecondStopEndsAtOnce) {
    memory_store store;
    service tasks(store, {.drain_limit = 1h});
    tasks.handle("work", [](job&) -> task<json> {
        co_await sleep(2h);
        co_return nullptr;
    });
    started running(tasks);
    const task_id id = co_await submit(tasks, "work");
    co_await advance(1s);
    running.stop();
    co_await advance(1min);
    EXPECT_FALSE(running.has_ended());
    running.stop();
    co_await settle_all();
    EXPECT_TRUE(running.has_ended());
    const task_record back = co_await record_of(store, id);
    EXPECT_EQ(back.state, task_state::pending);
    EXPECT_EQ(back.failures, 0u);
}

// A time limit around run() stops it like any other stop: the service drains, and the limit takes
// effect.
WEIR_TEST(ServiceDrains, ALimitAroundItIsAStop) {
    memory_store store;
    service tasks(store);
    tasks.handle("work", [](job&) -> task<json> {
        co_await sleep(15s);
        co_return nullptr;
    });
    const task_id id = co_await submit(tasks, "work");
    const clock::time_point begun = now();
    WEIR_EXPECT_TIMEOUT(timeout(10s, tasks.run()));
    EXPECT_EQ(now() - begun, 15s);
    const task_record done = co_await record_of(store, id);
    EXPECT_EQ(done.state, task_state::completed);
}

WEIR_TEST(ServiceDrains, AStoreThatIsAwayHoldsItUpForAShortTimeOnly) {
    for (const store_fault fault : {store_fault::fails, store_fault::hangs}) {
        memory_store store;
        service tasks(store, {.store_timeout = 3s, .drain_limit = 2s});
        tasks.handle("work", [](job&) -> task<json> {
            co_await sleep(1h);
            co_return nullptr;
        });
        started running(tasks);
        co_await submit(tasks, "work");
        co_await advance(1s);
        store.on_call([fault](store_call) { return fault; });
        const clock::time_point begun = now();
        co_await running.end();
        EXPECT_LE(now() - begun, 7s);
    }
}

// Stopped at every moment, once or twice, and run again: each task is completed once, no attempt
// was spent on the way, none counts as crashed, and the store knows that the node has ended.
task<> stopped_at(int moment, bool twice) {
    memory_store store(200us);
    std::map<task_id, int> completions;
    auto add = [&](service& to) {
        to.handle("work", [&](job& what) -> task<json> {
            EXPECT_EQ(what.attempt(), 1u);
            co_await sleep(std::chrono::milliseconds(what.id().number() % 7));
            ++completions[what.id()];
            co_return nullptr;
        });
    };
    std::vector<task_id> ids;
    const std::vector<submit_result> submitted =
        co_await store.submit(std::vector<new_task>(12, new_task("work")), {});
    for (const submit_result& each : submitted) {
        ids.push_back(each.id);
    }
    {
        service tasks(store, {.workers = 3, .drain_limit = 2ms});
        add(tasks);
        started running(tasks);
        co_await sleep(moment * 100us);
        running.stop();
        if (twice) {
            co_await settle_all();
            running.stop();
        }
        co_await running.ended();
        for (const task_id each : ids) {
            const task_record record = co_await record_of(store, each);
            EXPECT_NE(record.state, task_state::running);
            EXPECT_EQ(record.state == task_state::completed, completions[each] == 1);
        }
        const std::vector<node_record> nodes = co_await store.nodes();
        EXPECT_TRUE(nodes.empty());
    }
    service tasks(store, {.workers = 3});
    add(tasks);
    started running(tasks);
    co_await sleep(1s);
    for (const task_id each : ids) {
        const task_record record = co_await record_of(store, each);
        EXPECT_EQ(record.state, task_state::completed);
        EXPECT_EQ(record.crashes, 0u);
        EXPECT_EQ(record.failures, 0u);
        EXPECT_EQ(completions[each], 1);
    }
    co_await running.end();
}
WEIR_TEST(ServiceDrains, AtEveryMoment) {
    for (int moment = 0; moment < 150 && !::testing::Test::HasFailure(); ++moment) {
        for (const bool twice : {false, true}) {
            SCOPED_TRACE("moment " + std::to_string(moment) + (twice ? ", twice" : ""));
            co_await stopped_at(moment, twice);
        }
    }
}

// The release of the lease is repeated if it fails, and also sent if the store may know the node
// although no heartbeat was answered.
WEIR_TEST(ServiceDrains, TheGoodbyeReachesTheStore) {
    for (const store_fault fault : {store_fault::fails, store_fault::hangs,
                                    store_fault::fails_after, store_fault::hangs_after}) {
        for (const store_call which : {store_call::retire, store_call::heartbeat}) {
            memory_store store;
            service tasks(store, {.store_timeout = 500ms});
            int calls = 0;
            store.on_call([&](store_call each) {
                return each == which && ++calls <= 2 ? fault : store_fault::none;
            });
            started running(tasks);
            co_await settle_all();  // the first heartbeat may not be answered
            co_await running.end();
            store.on_call({});
            const std::vector<node_record> nodes = co_await store.nodes();
            EXPECT_TRUE(nodes.empty());
            EXPECT_GE(calls, 1);
        }
    }
}

// ---- schedules

schedule every_minute(missed_slots missed = missed_slots::run_latest) {
    schedule definition;
    definition.name = "minutely";
    definition.cron = "* * * * *";
    definition.missed = missed;
    definition.task = new_task("tick");
    return definition;
}

// Notes the slots that tasks were made for.
handler note_slots(std::vector<timestamp>& into) {
    return [&into](job& what) -> task<json> {
        into.push_back(*what.task().run_at);
        co_return nullptr;
    };
}

// For tests that take hours.
constexpr service_options seldom{.lease = 10min, .heartbeat = 1min, .poll = 1min};

// Until a full hour, and half a minute more.
task<> begin_of_an_hour(const service& at) {
    const auto since = at.now() - std::chrono::floor<std::chrono::hours>(at.now());
    co_await advance(1h - since + 30s);
}

WEIR_TEST(ServiceFires, EachSlotOnceByWhicheverNode) {
    memory_store store;
    std::vector<timestamp> slots;
    service first(store);
    service second(store);
    first.handle("tick", note_slots(slots));
    second.handle("tick", note_slots(slots));
    started one(first);
    started two(second);
    co_await advance(30s);
    const timestamp begun = first.now();
    co_await first.put_schedule(every_minute());
    co_await advance(10min);
    WEIR_ASSERT_EQ(slots.size(), 10u);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_EQ(slots[i], begun + 30s + i * 1min);
    }
    const std::vector<schedule_record> all = co_await first.schedules();
    WEIR_ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].last_slot, slots.back());
    schedule paused = every_minute();
    paused.is_paused = true;
    co_await second.put_schedule(paused);
    co_await advance(5min);
    EXPECT_EQ(slots.size(), 10u);
    const bool was_there = co_await first.remove_schedule("minutely");
    EXPECT_TRUE(was_there);
    co_await one.end();
    co_await two.end();
}

WEIR_TEST(ServiceFires, MissedSlotsByChoice) {
    for (const missed_slots policy : {missed_slots::run_latest, missed_slots::skip}) {
        memory_store store;
        std::vector<timestamp> slots;
        service tasks(store, seldom);
        tasks.handle("tick", note_slots(slots));
        co_await begin_of_an_hour(tasks);
        schedule hourly = every_minute(policy);
        hourly.cron = "0 * * * *";
        {
            started running(tasks);
            co_await tasks.put_schedule(hourly);
            co_await advance(90min);
            co_await running.end();
        }
        WEIR_ASSERT_EQ(slots.size(), 1u);
        co_await advance(5h);  // no service runs
        started running(tasks);
        co_await advance(1min);
        if (policy == missed_slots::run_latest) {
            WEIR_ASSERT_EQ(slots.size(), 2u) << "one, for the latest";
            EXPECT_EQ(slots[1] - slots[0], 5h);
            const std::vector<schedule_record> all = co_await tasks.schedules();
            EXPECT_EQ(all.at(0).last_slot, slots[1]);
        } else {
            EXPECT_EQ(slots.size(), 1u);
        }
        co_await advance(1h);
        EXPECT_EQ(slots.back() - slots.front(), 6h);
        co_await running.end();
    }
}

// A pause is not downtime: slots within it are skipped, whatever the policy for missed slots.
WEIR_TEST(ServiceFires, NothingForAPause) {
    for (const missed_slots policy : {missed_slots::run_latest, missed_slots::skip}) {
        memory_store store;
        std::vector<timestamp> slots;
        service tasks(store, seldom);
        tasks.handle("tick", note_slots(slots));
        co_await begin_of_an_hour(tasks);
        started running(tasks);
        schedule hourly = every_minute(policy);
        hourly.cron = "0 * * * *";
        co_await tasks.put_schedule(hourly);
        co_await advance(90min);
        WEIR_ASSERT_EQ(slots.size(), 1u);
        hourly.is_paused = true;
        co_await tasks.put_schedule(hourly);
        co_await advance(4h);
        hourly.is_paused = false;
        co_await tasks.put_schedule(hourly);
        co_await advance(25min);
        WEIR_ASSERT_EQ(slots.size(), 1u);
        const std::vector<schedule_record> all = co_await tasks.schedules();
        EXPECT_EQ(all.at(0).next_slot, slots[0] + 5h);
        EXPECT_EQ(all.at(0).last_slot, slots[0]);
        co_await advance(10min);
        WEIR_ASSERT_EQ(slots.size(), 2u) << "the next comes at its time";
        EXPECT_EQ(slots[1] - slots[0], 5h);
        co_await running.end();
    }
}

// Failure 10: a slot advanced though the insert failed; double fire.
WEIR_TEST(ServiceFires, AFaultNeitherLosesNorDoublesASlot) {
    for (const store_fault fault : {store_fault::fails, store_fault::fails_after,
                                    store_fault::hangs, store_fault::hangs_after}) {
        for (const store_call which : {store_call::fire, store_call::schedules}) {
            memory_store store;
            std::vector<timestamp> slots;
            service tasks(store);
            tasks.handle("tick", note_slots(slots));
            co_await begin_of_an_hour(tasks);
            started running(tasks);
            co_await tasks.put_schedule(every_minute());
            int calls = 0;
            store.on_call([&](store_call each) {
                return each == which && ++calls % 3 != 0 ? fault : store_fault::none;
            });
            co_await advance(5min);
            WEIR_ASSERT_EQ(slots.size(), 5u);
            for (std::size_t i = 1; i < slots.size(); ++i) {
                EXPECT_EQ(slots[i] - slots[i - 1], 1min);
            }
            co_await running.end();
        }
    }
}

// A zone that this machine does not know, or not for that year, only affects its own schedule.
WEIR_TEST(ServiceFires, OneThatCannotBeWorkedOutHoldsUpNoOther) {
    memory_store store;
    std::vector<timestamp> slots;
    std::vector<std::string> messages;
    service_options options;
    options.log = [&](log_level, std::string_view what) { messages.emplace_back(what); };
    service tasks(store, options);
    tasks.handle("tick", note_slots(slots));
    schedule lost = every_minute();
    lost.name = "first of all";
    lost.zone = "Atlantis/Center";
    co_await store.put_schedule(lost, tasks.now());
    started running(tasks);
    co_await advance(30s);
    co_await tasks.put_schedule(every_minute());
    co_await advance(3min);
    EXPECT_EQ(slots.size(), 3u);
    EXPECT_TRUE(std::ranges::any_of(messages, [](const std::string& each) {
        return each.find("'first of all'") != std::string::npos &&
               each.find("Atlantis/Center") != std::string::npos;
    }));
    EXPECT_LT(messages.size(), 30u);  // not all the time
    co_await running.end();
}

WEIR_TEST(ServiceFires, AFullQueueHoldsTheSlot) {
    memory_store store;
    std::vector<timestamp> slots;
    service tasks(store);
    tasks.handle("tick", note_slots(slots)).handle("other", nothing);
    queue_limits one;
    one.max_pending = 1;
    co_await tasks.limit("default", one);
    co_await tasks.pause("default", true);
    started running(tasks);
    co_await submit(tasks, "other");
    co_await tasks.put_schedule(every_minute());
    co_await advance(90s);
    const std::vector<schedule_record> all = co_await tasks.schedules();
    EXPECT_FALSE(all.at(0).last_slot.has_value());
    co_await tasks.pause("default", false);
    co_await advance(15s);
    EXPECT_EQ(slots.size(), 1u);
    co_await running.end();
}

WEIR_TEST(ServiceFires, SchedulesAreChecked) {
    memory_store store;
    service tasks(store);
    tasks.handle("tick", nothing);
    schedule bad = every_minute();
    bad.cron = "61 * * * *";
    WEIR_EXPECT_THROW(tasks.put_schedule(bad), invalid_argument);
    bad = every_minute();
    bad.task.kind = "tock";
    WEIR_EXPECT_THROW(tasks.put_schedule(bad), unknown_kind);
    bad = every_minute();
    bad.task.idempotency_key = "once";
    WEIR_EXPECT_THROW_WITH(tasks.put_schedule(bad), invalid_argument, "once");
}

// What the service logs while it ends, and how long it waits for a store that is away.
WEIR_TEST(ServiceDrains, SaysWhatItWaitsForAndStops) {
    memory_store store;
    std::vector<std::string> messages;
    service_options options;
    options.drain_limit = 2s;
    options.log = [&](log_level, std::string_view what) { messages.emplace_back(what); };
    service tasks(store, options);
    tasks.handle("work", [](job&) -> task<json> {
        co_await sleep(1s);
        co_return nullptr;
    });
    tasks.handle("long", [](job&) -> task<json> {
        co_await sleep(1h);
        co_return nullptr;
    });
    for (const bool is_long : {false, true}) {
        messages.clear();
        started running(tasks);
        co_await submit(tasks, "work");
        if (is_long) {
            co_await submit(tasks, "long");
        }
        co_await settle_all();
        const clock::time_point begun = now();
        co_await running.end();
        EXPECT_EQ(now() - begun, is_long ? 2s : 1s);
        std::vector<std::string> expected{is_long ? "draining: 2 running" : "draining: 1 running"};
        if (is_long) {
            expected.emplace_back("stopping 1 tasks that still run, to return them");
        }
        EXPECT_EQ(messages, expected);
    }
}

// After a second stop, a store that is away is waited for one second; after one stop, for a store
// timeout. Then the lease is released for two seconds at most.
WEIR_TEST(ServiceDrains, ASecondStopWaitsForASecondOnly) {
    for (const bool twice : {false, true}) {
        memory_store store;
        service tasks(store, {.store_timeout = 5s, .drain_limit = 1s});
        tasks.handle("work", [](job&) -> task<json> {
            co_await sleep(1h);
            co_return nullptr;
        });
        started running(tasks);
        co_await submit(tasks, "work");
        co_await advance(500ms);
        store.on_call([](store_call) { return store_fault::fails; });
        const clock::time_point begun = now();
        running.stop();
        if (twice) {
            co_await settle_all();
            running.stop();
        }
        co_await running.ended();
        EXPECT_EQ(now() - begun, twice ? 1s + 2s : 1s + 5s + 2s);
    }
}

// A claim in flight is waited for after one stop, and given up after two.
WEIR_TEST(ServiceDrains, ASecondStopGivesUpAClaimInFlight) {
    for (const bool twice : {false, true}) {
        memory_store store;
        process connection(store);
        service tasks(connection, {.poll = 1h, .store_timeout = 10s, .drain_limit = 1s});
        tasks.handle("work", nothing);
        tasks.handle("long", [](job&) -> task<json> {
            co_await sleep(1h);
            co_return nullptr;
        });
        started running(tasks);
        co_await submit(tasks, "long");
        co_await advance(1s);
        connection.delay_answers(
            [](store_call which) { return which == store_call::claim ? 4s : 0s; });
        const task_id id = co_await submit(tasks, "work");
        co_await settle_all();
        const clock::time_point begun = now();
        running.stop();
        if (twice) {
            co_await settle_all();
            running.stop();
        }
        co_await running.ended();
        EXPECT_EQ(now() - begun, twice ? 0s : 4s);
        const task_record back = co_await record_of(store, id);
        EXPECT_EQ(back.state, task_state::pending) << "in both cases it is returned";
        EXPECT_EQ(back.crashes, 0u);
        EXPECT_EQ(tasks.stats().started, 1u);
        const std::vector<node_record> nodes = co_await store.nodes();
        EXPECT_TRUE(nodes.empty());
    }
}

// Schedules and sweeps end with the first stop; heartbeats go on until the last run has ended.
WEIR_TEST(ServiceDrains, KeepsItsLeaseWhileItDrains) {
    memory_store store;
    process connection(store);
    service tasks(connection, {.drain_limit = 5min});
    tasks.handle("work", [](job& what) -> task<json> {
        co_await sleep(3min);
        what.progress(0.5, "half");
        co_await sleep(1min);
        co_return nullptr;
    });
    tasks.handle("tick", nothing);
    started running(tasks);
    const task_id id = co_await submit(tasks, "work");
    schedule plan;
    plan.name = "minutely";
    plan.cron = "* * * * *";
    plan.task = new_task("tick");
    co_await tasks.put_schedule(plan);
    co_await settle_all();
    running.stop();
    const int purges = connection.calls(store_call::purge);
    co_await advance(3min + 30s);
    const task_record half = co_await record_of(store, id);
    EXPECT_EQ(half.progress, 0.5);
    EXPECT_EQ(half.state, task_state::running);
    EXPECT_EQ(connection.calls(store_call::fire), 0);
    EXPECT_EQ(connection.calls(store_call::purge), purges);
    EXPECT_GE(connection.calls(store_call::heartbeat), 100);
    co_await advance(1min);
    EXPECT_TRUE(running.has_ended());
    const task_record done = co_await record_of(store, id);
    EXPECT_EQ(done.state, task_state::completed);
    EXPECT_EQ(done.crashes, 0u);
}

}  // namespace
}  // namespace weir::service::testing
