// SPDX-License-Identifier: MIT
#include "service/engine/rescuer.hpp"

#include "components.hpp"

namespace weir::service::testing {
namespace {

// A node of another machine claims the task, and its lease ends after a second.
task<> run_elsewhere(components& parts) {
    node_record other;
    other.id = "other";
    other.host = "another machine";
    other.expires_at = parts.time.now() + 1s;
    co_await parts.memory.heartbeat(other, parts.time.now());
    claim_request request;
    request.node = other.id;
    request.now = parts.time.now();
    co_await parts.memory.claim(request);
}

WEIR_TEST(Rescuer, ReturnsTasksOfANodeWhoseLeaseHasExpired) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    co_await run_elsewhere(parts);
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(4s);
    const task_record rescued = co_await record_of(parts.memory, id);
    EXPECT_EQ(rescued.state, task_state::pending);
    EXPECT_EQ(rescued.crashes, 1u);
    EXPECT_EQ(parts.stats().rescued, 1u);
    EXPECT_EQ(parts.logged("rescued 1 tasks"), 1u);
    rescuing.cancel();
    co_await rescuing.wait();
}

WEIR_TEST(Rescuer, RescuesNothingAfterItsOwnLeaseHasExpired) {
    components parts;
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    co_await run_elsewhere(parts);
    co_await sleep(parts.options.lease);
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(1min);
    const task_record still = co_await record_of(parts.memory, id);
    EXPECT_EQ(still.state, task_state::running);
    rescuing.cancel();
    co_await rescuing.wait();
}

WEIR_TEST(Rescuer, RetiresOldLeasesOfItsNode) {
    components parts;
    co_await parts.register_node();
    bool is_away = true;
    parts.memory.on_call(
        [&](store_call) { return is_away ? store_fault::fails : store_fault::none; });
    const handle<> keeping = weir::spawn(parts.leases.run());
    const handle<> rescuing = weir::spawn(parts.rescuer.run());
    co_await sleep(parts.options.lease);
    EXPECT_EQ(parts.leases.all().size(), 2u);
    is_away = false;
    co_await sleep(10s);
    EXPECT_EQ(parts.leases.all().size(), 1u);
    for (const handle<>* const each : {&keeping, &rescuing}) {
        each->cancel();
        co_await each->wait();
    }
}

}  // namespace
}  // namespace weir::service::testing
