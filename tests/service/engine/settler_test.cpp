// SPDX-License-Identifier: MIT
#include "service/engine/settler.hpp"

#include "components.hpp"

#include <functional>
#include <stdexcept>

namespace weir::service::testing {
namespace {

WEIR_TEST(Settler, WritesTheEndsOfRuns) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    const task_record task = co_await parts.claim_one();
    const handle<> settling = weir::spawn(parts.settler.run());
    parts.settler.add(parts.leases.current(), parts.builder.completed(task, json(7)));
    EXPECT_TRUE(parts.settler.has_unsettled(parts.leases.current()));
    co_await parts.settler.wait_until_settled(1s);
    EXPECT_FALSE(parts.settler.has_unsettled());
    const task_record settled = co_await record_of(parts.memory, id);
    EXPECT_EQ(settled.state, task_state::completed);
    EXPECT_EQ(settled.result, "7");
    EXPECT_EQ(parts.stats().completed, 1u);
    settling.cancel();
    co_await settling.wait();
}

WEIR_TEST(Settler, RepeatsUntilTheStoreHasAnswered) {
    components parts;
    co_await parts.register_node();
    co_await parts.submit(new_task("work"));
    const task_record task = co_await parts.claim_one();
    int calls = 0;
    parts.memory.on_call([&](store_call which) {
        const bool fails = which == store_call::settle && ++calls <= 3;
        return fails ? store_fault::fails_after : store_fault::none;
    });
    const handle<> settling = weir::spawn(parts.settler.run());
    parts.settler.add(parts.leases.current(), parts.builder.completed(task, json()));
    co_await parts.settler.wait_until_settled(1min);
    EXPECT_FALSE(parts.settler.has_unsettled());
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(parts.stats().fenced, 0u) << "the first call may have written it";
    settling.cancel();
    co_await settling.wait();
}

WEIR_TEST(Settler, CountsAResultThatCameTooLate) {
    components parts;
    co_await parts.register_node();
    task_record task;
    task.id = task_id(99);
    task.run = 1;
    const handle<> settling = weir::spawn(parts.settler.run());
    parts.settler.add(parts.leases.current(), parts.builder.completed(task, json()));
    co_await parts.settler.wait_until_settled(1s);
    EXPECT_EQ(parts.stats().fenced, 1u);
    EXPECT_EQ(parts.stats().completed, 0u);
    settling.cancel();
    co_await settling.wait();
}

// Runs the settler beside a body.
task<> while_settling(components& parts, std::function<task<>()> body) {
    const handle<> settling = weir::spawn(parts.settler.run());
    co_await body();
    settling.cancel();
    co_await settling.wait();
}

// So many tasks, claimed by this node.
task<std::vector<task_record>> claim_many(components& parts, std::size_t count) {
    std::vector<new_task> fresh(count, new_task("work"));
    co_await parts.memory.submit(std::move(fresh), parts.time.now());
    claim_request request;
    request.node = parts.leases.current().node();
    request.now = parts.time.now();
    request.limit = count;
    claimed answer = co_await parts.memory.claim(request);
    co_return std::move(answer.tasks);
}

WEIR_TEST(Settler, WritesTwoThousandAtATime) {
    components parts;
    co_await parts.register_node();
    const std::vector<task_record> tasks = co_await claim_many(parts, 4001);
    for (const task_record& each : tasks) {
        parts.settler.add(parts.leases.current(), parts.builder.completed(each, json(1)));
    }
    std::vector<run_key> unsettled;
    parts.settler.append_unsettled(parts.leases.current(), unsettled);
    EXPECT_EQ(unsettled.size(), 4001u);
    parts.connection.delay_answers([](store_call) { return 1s; });
    auto body = [&]() -> task<> {
        for (const std::size_t left : {4001u, 2001u, 1u}) {
            co_await sleep(500ms);
            unsettled.clear();
            parts.settler.append_unsettled(parts.leases.current(), unsettled);
            EXPECT_EQ(unsettled.size(), left) << "also those in flight";
            EXPECT_TRUE(parts.settler.has_unsettled());
            EXPECT_TRUE(parts.settler.has_unsettled(parts.leases.current()));
            co_await sleep(500ms);
        }
        co_await settle_all();
        EXPECT_FALSE(parts.settler.has_unsettled());
        EXPECT_EQ(parts.connection.calls(store_call::settle), 3);
        EXPECT_EQ(parts.stats().completed, 4001u);
        EXPECT_EQ(parts.stats().fenced, 0u);
    };
    co_await while_settling(parts, body);
    const std::vector<queue_record> queues = co_await parts.memory.queues();
    EXPECT_EQ(queues.at(0).count(task_state::completed), 4001u);
}

WEIR_TEST(Settler, CountsEachEnd) {
    components parts;
    co_await parts.register_node();
    const std::vector<task_record> tasks = co_await claim_many(parts, 6);
    const detail::lease& owner = parts.leases.current();
    auto& builder = parts.builder;
    const auto error = std::make_exception_ptr(permanent_failure("never"));
    using detail::stop_cause;
    parts.settler.add(owner, builder.completed(tasks[0], json(1)));
    parts.settler.add(owner, builder.failed(tasks[1], attempt_end::failed, "no"));
    parts.settler.add(owner, builder.stopped(tasks[2], stop_cause::none));
    parts.settler.add(owner, builder.stopped(tasks[3], stop_cause::cancelled));
    parts.settler.add(owner, builder.threw(tasks[4], stop_cause::none, error));
    parts.settler.add(owner, builder.returned(tasks[5]));
    parts.trigger.claim_begins();
    auto body = [&]() -> task<> {
        co_await parts.settler.wait_until_settled(1s);
        const service_stats stats = parts.stats();
        EXPECT_EQ(stats.completed, 1u);
        EXPECT_EQ(stats.failed, 3u);
        EXPECT_EQ(stats.dead, 1u);
        EXPECT_EQ(stats.cancelled, 1u);
        EXPECT_EQ(stats.fenced, 0u);
        EXPECT_TRUE(parts.trigger.is_wanted()) << "limits may have kept others waiting";
    };
    co_await while_settling(parts, body);
}

WEIR_TEST(Settler, KeepsTheEndsOfLeasesApart) {
    components parts;
    co_await parts.register_node();
    const std::vector<task_record> tasks = co_await claim_many(parts, 2);
    const detail::lease& owner = parts.leases.current();
    const detail::lease other(1, {});
    parts.settler.add(owner, parts.builder.completed(tasks[0], json(1)));
    EXPECT_FALSE(parts.settler.has_unsettled(other));
    parts.settler.add(other, parts.builder.completed(tasks[1], json(1)));
    EXPECT_TRUE(parts.settler.has_unsettled(other));
    std::vector<run_key> keys;
    parts.settler.append_unsettled(other, keys);
    WEIR_ASSERT_EQ(keys.size(), 1u);
    EXPECT_EQ(keys[0].id, tasks[1].id);
    parts.settler.forget(other);
    EXPECT_FALSE(parts.settler.has_unsettled(other));
    EXPECT_TRUE(parts.settler.has_unsettled(owner));
    parts.settler.add(other, parts.builder.completed(tasks[1], json(1)));
    auto body = [&]() -> task<> {
        co_await parts.settler.wait_until_settled(1s);
        EXPECT_FALSE(parts.settler.has_unsettled());
        EXPECT_EQ(parts.stats().completed, 1u);
        EXPECT_EQ(parts.stats().fenced, 1u) << "the other lease does not run it";
    };
    co_await while_settling(parts, body);
    parts.settler.add(owner, parts.builder.completed(tasks[1], json(1)));
    parts.settler.forget_all();
    EXPECT_FALSE(parts.settler.has_unsettled());
}

WEIR_TEST(Settler, WaitsNoLongerThanItIsTold) {
    components parts;
    co_await parts.register_node();
    const std::vector<task_record> tasks = co_await claim_many(parts, 1);
    const clock::time_point begun = weir::now();
    co_await parts.settler.wait_until_settled(1s);
    EXPECT_EQ(weir::now(), begun) << "nothing is unsettled";
    parts.settler.add(parts.leases.current(), parts.builder.completed(tasks[0], json(1)));
    parts.memory.on_call([](store_call) { return store_fault::hangs; });
    auto body = [&]() -> task<> {
        co_await parts.settler.wait_until_settled(3s);
        EXPECT_EQ(weir::now() - begun, 3s);
        EXPECT_TRUE(parts.settler.has_unsettled());
        parts.memory.on_call({});
        co_await parts.settler.wait_until_settled(1min);
        EXPECT_LT(weir::now() - begun, 8s);
        EXPECT_FALSE(parts.settler.has_unsettled());
    };
    co_await while_settling(parts, body);
}

// A call that is repeated may find that its first attempt took effect; a first call may not.
WEIR_TEST(Settler, CountsARepeatedCallThatWrites) {
    components parts;
    co_await parts.register_node();
    const std::vector<task_record> tasks = co_await claim_many(parts, 2);
    int calls = 0;
    parts.memory.on_call([&](store_call which) {
        return which == store_call::settle && ++calls == 1 ? store_fault::fails : store_fault::none;
    });
    for (const task_record& each : tasks) {
        parts.settler.add(parts.leases.current(), parts.builder.completed(each, json(1)));
    }
    auto body = [&]() -> task<> {
        const clock::time_point begun = weir::now();
        co_await parts.settler.wait_until_settled(1min);
        EXPECT_GT(weir::now(), begun) << "after a delay";
        EXPECT_LE(weir::now() - begun, 50ms);
        EXPECT_EQ(parts.stats().completed, 2u);
        EXPECT_EQ(calls, 2);
    };
    co_await while_settling(parts, body);
}

// The store refuses a batch, so its runs are settled one by one. One that was settled is not
// settled again when the store is away for one after it.
WEIR_TEST(Settler, SettlesOneByOneWhatTheStoreRefusesTogether) {
    components parts;
    co_await parts.register_node();
    const std::vector<task_record> tasks = co_await claim_many(parts, 4);
    int calls = 0;
    parts.memory.on_call([&](store_call which) -> store_fault {
        if (which != store_call::settle) {
            return store_fault::none;
        }
        ++calls;
        if (calls == 1 || calls == 3) {
            throw std::length_error("too much of it");  // the batch, and the second of it
        }
        return calls == 5 ? store_fault::fails : store_fault::none;  // at the third
    });
    for (const task_record& each : tasks) {
        parts.settler.add(parts.leases.current(), parts.builder.completed(each, json(1)));
    }
    auto body = [&]() -> task<> {
        co_await parts.settler.wait_until_settled(1min);
        EXPECT_FALSE(parts.settler.has_unsettled());
        EXPECT_EQ(calls, 6) << "batch, 1, 2, 2 as failed, 3 away, 3 and 4 together";
        EXPECT_EQ(parts.stats().completed, 3u);
        EXPECT_EQ(parts.stats().failed, 1u);
        EXPECT_EQ(parts.stats().fenced, 0u);
        EXPECT_EQ(parts.logged("settling failed: too much of it"), 1u);
        EXPECT_EQ(parts.logged("task " + tasks[1].id.text() + " cannot be settled: too much of it"),
                  1u);
    };
    co_await while_settling(parts, body);
    const task_record failed = co_await record_of(parts.memory, tasks[1].id);
    EXPECT_EQ(failed.error, "the store cannot keep the result: too much of it");
    EXPECT_EQ(failed.state, task_state::pending);
}

// The run is another one meanwhile, or the task is gone: then nothing is written.
WEIR_TEST(Settler, FailsNoOtherRunInstead) {
    components parts;
    co_await parts.register_node();
    const std::vector<task_record> tasks = co_await claim_many(parts, 1);
    task_record old = tasks[0];
    old.run = 7;
    parts.memory.on_call([&](store_call which) -> store_fault {
        if (which == store_call::settle) {
            throw std::length_error("too much of it");
        }
        return store_fault::none;
    });
    parts.settler.add(parts.leases.current(), parts.builder.completed(old, json(1)));
    old.id = task_id(99);
    parts.settler.add(parts.leases.current(), parts.builder.completed(old, json(1)));
    auto body = [&]() -> task<> {
        co_await parts.settler.wait_until_settled(1min);
        EXPECT_FALSE(parts.settler.has_unsettled());
        EXPECT_EQ(parts.connection.calls(store_call::settle), 3);
        EXPECT_EQ(parts.logged("cannot be settled as failed either"), 0u);
    };
    co_await while_settling(parts, body);
}

WEIR_TEST(Settler, ForgetsTheEndsOfLostRuns) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    const task_record task = co_await parts.claim_one();
    bool is_away = true;
    parts.memory.on_call([&](store_call which) {
        return is_away && which == store_call::settle ? store_fault::fails : store_fault::none;
    });
    const handle<> settling = weir::spawn(parts.settler.run());
    parts.settler.add(parts.leases.current(), parts.builder.completed(task, json(7)));
    co_await sleep(1s);
    EXPECT_TRUE(parts.settler.has_unsettled());
    const std::vector<run_key> lost(1, run_key{task.id, task.run});
    parts.settler.forget(parts.leases.current(), lost);
    is_away = false;
    co_await parts.settler.wait_until_settled(1min);
    EXPECT_FALSE(parts.settler.has_unsettled());
    const task_record after = co_await record_of(parts.memory, id);
    EXPECT_EQ(after.state, task_state::running) << "the end of a lost run was written";
    settling.cancel();
    co_await settling.wait();
}

}  // namespace
}  // namespace weir::service::testing
