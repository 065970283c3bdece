// SPDX-License-Identifier: MIT
#include "service/engine/lease_keeper.hpp"

#include "components.hpp"

namespace weir::service::testing {
namespace {

WEIR_TEST(LeaseKeeper, RenewsItsLease) {
    components parts;
    co_await parts.register_node();
    const handle<> keeping = weir::spawn(parts.leases.run());
    co_await sleep(1min);
    const std::vector<node_record> nodes = co_await parts.memory.nodes();
    WEIR_ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes.front().id, parts.leases.current().node());
    EXPECT_GT(nodes.front().expires_at, parts.time.now());
    EXPECT_EQ(parts.leases.all().size(), 1u);
    EXPECT_TRUE(parts.leases.is_confirmed());
    EXPECT_TRUE(parts.leases.is_valid());
    keeping.cancel();
    co_await keeping.wait();
}

WEIR_TEST(LeaseKeeper, StopsItsRunsAndTakesANewLeaseWhenTheStoreIsAway) {
    components parts;
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const detail::lease_keeper& leases = parts.leases;
    const detail::lease& first = leases.current();
    parts.memory.on_call([](store_call) { return store_fault::fails; });
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        task_record task;
        task.kind = "work";
        task.id = task_id(1);
        parts.runner.start(task, first, false, group);
        const clock::time_point begun = weir::now();
        co_await parts.runner.wait_until_idle();
        EXPECT_LT(weir::now() - begun, parts.options.lease) << "before others may take the task";
        EXPECT_TRUE(first.is_lost);
        EXPECT_EQ(leases.all().size(), 2u);
        EXPECT_NE(&leases.current(), &first);
        EXPECT_EQ(parts.logged("the lease is lost"), 1u);
        keeping.cancel();
    };
    co_await with_group(body);
}

WEIR_TEST(LeaseKeeper, ReleasesItsLeases) {
    components parts;
    co_await parts.register_node();
    const std::vector<node_record> before = co_await parts.memory.nodes();
    EXPECT_EQ(before.size(), 1u);
    co_await parts.leases.release_all();
    const std::vector<node_record> after = co_await parts.memory.nodes();
    EXPECT_TRUE(after.empty());
    EXPECT_TRUE(parts.leases.all().empty());
}

WEIR_TEST(LeaseKeeper, CancelsRunsThatTheStoreNames) {
    components parts;
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    task_record claimed = co_await parts.claim_one();
    auto body = [&](task_group& group) -> task<> {
        const any_handle keeping = group.spawn(parts.leases.run());
        parts.runner.start(claimed, parts.leases.current(), false, group);
        co_await parts.memory.cancel(id, parts.time.now());
        co_await parts.runner.wait_until_idle();
        keeping.cancel();
    };
    co_await with_group(body);
    EXPECT_TRUE(parts.settler.has_unsettled());
}

}  // namespace
}  // namespace weir::service::testing
