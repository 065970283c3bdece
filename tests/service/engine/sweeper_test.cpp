// SPDX-License-Identifier: MIT
#include "service/engine/sweeper.hpp"

#include "components.hpp"

namespace weir::service::testing {
namespace {

WEIR_TEST(Sweeper, RemovesTasksAfterTheirRetention) {
    service_options options;
    options.kept.cancelled = std::chrono::minutes(5);
    components parts(options);
    const task_id id = co_await parts.submit(new_task("work"));
    co_await parts.memory.cancel(id, parts.time.now());
    const handle<> sweeping = weir::spawn(parts.sweeper.run());
    co_await sleep(4min);
    const std::optional<task_detail> kept = co_await parts.memory.find(id);
    EXPECT_TRUE(kept.has_value());
    co_await sleep(3min);
    const std::optional<task_detail> removed = co_await parts.memory.find(id);
    EXPECT_FALSE(removed.has_value());
    sweeping.cancel();
    co_await sweeping.wait();
}

WEIR_TEST(Sweeper, GoesOnAfterAFailure) {
    service_options options;
    options.kept.cancelled = std::chrono::seconds(0);
    components parts(options);
    const task_id id = co_await parts.submit(new_task("work"));
    co_await parts.memory.cancel(id, parts.time.now());
    int calls = 0;
    parts.memory.on_call([&](store_call which) {
        const bool fails = which == store_call::purge && ++calls == 1;
        return fails ? store_fault::fails : store_fault::none;
    });
    const handle<> sweeping = weir::spawn(parts.sweeper.run());
    co_await sleep(3min);
    const std::optional<task_detail> removed = co_await parts.memory.find(id);
    EXPECT_FALSE(removed.has_value());
    sweeping.cancel();
    co_await sweeping.wait();
}

WEIR_TEST(Sweeper, RemovesOnceAMinuteUntilNothingIsLeft) {
    service_options options;
    options.kept.cancelled = std::chrono::seconds(30);
    components parts(options);
    std::vector<new_task> many(2001, new_task("work"));
    const std::vector<submit_result> made =
        co_await parts.memory.submit(std::move(many), parts.time.now());
    for (const submit_result& each : made) {
        co_await parts.memory.cancel(each.id, parts.time.now());
    }
    const handle<> sweeping = weir::spawn(parts.sweeper.run());
    co_await sleep(59s);
    EXPECT_EQ(parts.connection.calls(store_call::purge), 0);
    co_await sleep(1s);
    co_await settle_all();
    EXPECT_EQ(parts.connection.calls(store_call::purge), 4) << "1000, 1000, 1, 0";
    const std::vector<queue_record> queues = co_await parts.memory.queues();
    EXPECT_EQ(queues.at(0).count(task_state::cancelled), 0u);
    co_await advance(10min);
    EXPECT_EQ(parts.connection.calls(store_call::purge), 14);
    sweeping.cancel();
    co_await sweeping.wait();
}

// A step writes, and submits wait for it: they have the store for themselves half of the time.
WEIR_TEST(Sweeper, LeavesTheStoreToOthersBetweenItsSteps) {
    service_options options;
    options.kept.cancelled = std::chrono::seconds(0);
    components parts(options);
    std::vector<new_task> many(10'000, new_task("work"));
    const std::vector<submit_result> made =
        co_await parts.memory.submit(std::move(many), parts.time.now());
    for (const submit_result& each : made) {
        co_await parts.memory.cancel(each.id, parts.time.now());
    }
    std::vector<clock::time_point> ends;
    clock::duration shortest_pause = clock::duration::max();
    parts.connection.delay_questions([&](store_call which) -> clock::duration {
        if (which != store_call::purge) {
            return 0s;
        }
        if (!ends.empty()) {
            shortest_pause = std::min(shortest_pause, weir::now() - ends.back());
        }
        return 15ms;
    });
    parts.connection.delay_answers([&](store_call) -> clock::duration {
        ends.push_back(weir::now());
        return 0s;
    });
    const handle<> sweeping = weir::spawn(parts.sweeper.run());
    co_await sleep(61s);
    EXPECT_EQ(ends.size(), 11u) << "ten steps of 1000, and one that finds nothing";
    EXPECT_GE(shortest_pause, 15ms);
    sweeping.cancel();
    co_await sweeping.wait();
}

}  // namespace
}  // namespace weir::service::testing
