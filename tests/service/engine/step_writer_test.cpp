// SPDX-License-Identifier: MIT
#include "service/engine/step_writer.hpp"

#include "components.hpp"

namespace weir::service::testing {
namespace {

struct step_bench : components {
    using components::components;

    // One task that runs here.
    task<> begin() {
        co_await register_node();
        co_await submit(new_task("work"));
        run = co_await claim_one();
    }
    task<std::string> keep(std::string name, std::string json) {
        step_record step;
        step.name = std::move(name);
        step.result = std::move(json);
        return steps.keep(leases.current(), {run.id, run.run}, std::move(step));
    }
    task_record run;
};

WEIR_TEST(StepWriter, KeepsAResultAndAnswersTheFirst) {
    step_bench parts;
    co_await parts.begin();
    std::string kept = co_await parts.keep("a", "1");
    EXPECT_EQ(kept, "1");
    kept = co_await parts.keep("a", "2");
    EXPECT_EQ(kept, "1");
    const task_record found = co_await record_of(parts.memory, parts.run.id);
    WEIR_ASSERT_EQ(found.steps.size(), 1U);
    EXPECT_EQ(found.steps[0].kept_at, parts.time.now());
}

WEIR_TEST(StepWriter, RepeatsWhileTheStoreIsUnavailable) {
    step_bench parts;
    co_await parts.begin();
    int calls = 0;
    parts.memory.on_call([&](store_call which) {
        return which != store_call::keep_step || ++calls > 5 ? store_fault::none
               : calls % 2 == 0                              ? store_fault::fails
                                                             : store_fault::fails_after;
    });
    const std::string kept = co_await parts.keep("a", "1");
    EXPECT_EQ(kept, "1");
    EXPECT_EQ(calls, 6);
    const task_record found = co_await record_of(parts.memory, parts.run.id);
    EXPECT_EQ(found.steps.size(), 1U);
}

// The handler would outlive the lease otherwise: the write is shielded from its stop.
WEIR_TEST(StepWriter, AWriteTakesNoLongerThanTheLease) {
    step_bench parts;
    co_await parts.begin();
    int calls = 0;
    parts.memory.on_call([&](store_call which) {
        calls += which == store_call::keep_step ? 1 : 0;
        return which == store_call::keep_step ? store_fault::hangs : store_fault::none;
    });
    co_await sleep_until(parts.leases.current().expires_at - 1s);
    const handle<std::string> writing = weir::spawn(parts.keep("a", "1"));
    co_await advance(990ms);
    EXPECT_EQ(calls, 1);
    co_await advance(200ms);
    EXPECT_GE(calls, 2) << "it was given up with the lease, and is tried again";
    writing.cancel();
    co_await writing.wait();
}

WEIR_TEST(StepWriter, EndsWhenTheRunOrTheLeaseIsLost) {
    step_bench parts;
    co_await parts.begin();
    parts.memory.on_call([](store_call which) {
        return which == store_call::keep_step ? store_fault::fails : store_fault::none;
    });
    detail::lease lost(1, {});
    lost.is_lost = true;
    step_record step;
    step.name = "a";
    step.result = "1";
    bool has_thrown = false;
    try {
        co_await parts.steps.keep(lost, {parts.run.id, parts.run.run}, step);
    } catch (const step_lost&) {
        has_thrown = true;
    }
    EXPECT_TRUE(has_thrown) << "the store is away, but the lease is lost";
    parts.memory.on_call({});
    parts.run.run += 1;
    has_thrown = false;
    try {
        co_await parts.keep("a", "1");
    } catch (const step_lost& error) {
        has_thrown = true;
        EXPECT_NE(std::string(error.what()).find(parts.run.id.text()), std::string::npos);
    }
    EXPECT_TRUE(has_thrown);
}

// What was done is written, although the run was stopped meanwhile.
WEIR_TEST(StepWriter, AStopWaitsForTheWriteInFlight) {
    step_bench parts;
    co_await parts.begin();
    parts.connection.delay_questions([](store_call) { return clock::duration(1s); });
    const handle<std::string> keeping = weir::spawn(parts.keep("a", "1"));
    co_await sleep(500ms);
    keeping.cancel();
    co_await keeping.wait();
    const task_record found = co_await record_of(parts.memory, parts.run.id);
    EXPECT_EQ(found.steps.size(), 1U);
}

WEIR_TEST(StepWriter, AStopEndsTheRetries) {
    step_bench parts;
    co_await parts.begin();
    parts.memory.on_call([](store_call which) {
        return which == store_call::keep_step ? store_fault::fails : store_fault::none;
    });
    const handle<std::string> keeping = weir::spawn(parts.keep("a", "1"));
    co_await sleep(1min);
    EXPECT_FALSE(keeping.done());
    keeping.cancel();
    co_await sleep(1s);
    EXPECT_TRUE(keeping.done());
}

}  // namespace
}  // namespace weir::service::testing
