// SPDX-License-Identifier: MIT
#include "service/engine/settler.hpp"

#include "components.hpp"

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

}  // namespace
}  // namespace weir::service::testing
