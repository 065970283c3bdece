// SPDX-License-Identifier: MIT
#include "service/engine/claimer.hpp"

#include "components.hpp"

namespace weir::service::testing {
namespace {

WEIR_TEST(Claimer, ClaimsForFreeWorkersOnly) {
    components parts({.workers = 2});
    parts.handlers.add("work", wait_for_stop, {});
    co_await parts.register_node();
    for (int i = 0; i < 3; ++i) {
        co_await parts.submit(new_task("work"));
    }
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(1s);
        EXPECT_EQ(parts.runner.running(), 2u);
        parts.claimer.close();
        parts.runner.stop_all(detail::stop_cause::given_back);
    };
    co_await with_group(body);
    EXPECT_EQ(parts.stats().started, 2u);
}

WEIR_TEST(Claimer, ClaimsNothingWithoutALease) {
    components parts;
    parts.handlers.add("work", do_nothing, {});
    std::size_t claims = 0;
    parts.memory.on_call([&](store_call which) {
        claims += which == store_call::claim ? 1 : 0;
        return which == store_call::heartbeat ? store_fault::fails : store_fault::none;
    });
    co_await parts.register_node();
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(1min);
        parts.claimer.close();
    };
    co_await with_group(body);
    EXPECT_EQ(claims, 0u);
}

WEIR_TEST(Claimer, ReturnsTasksWhoseClaimWasNotAnswered) {
    components parts;
    parts.handlers.add("work", do_nothing, {});
    co_await parts.register_node();
    const task_id id = co_await parts.submit(new_task("work"));
    parts.memory.on_call([](store_call which) {
        return which == store_call::claim ? store_fault::fails_after : store_fault::none;
    });
    auto body = [&](task_group& group) -> task<> {
        group.spawn(parts.claimer.run(group));
        co_await sleep(10ms);
        parts.claimer.close();
    };
    co_await with_group(body);
    EXPECT_TRUE(parts.claimer.has_lost_claims(parts.leases.current()));
    EXPECT_FALSE(parts.settler.has_unsettled());
    co_await parts.claimer.return_all_lost_claims();
    EXPECT_FALSE(parts.claimer.has_lost_claims(parts.leases.current()));
    std::vector<run_key> returned;
    parts.settler.append_unsettled(parts.leases.current(), returned);
    WEIR_ASSERT_EQ(returned.size(), 1u);
    EXPECT_EQ(returned.front().id, id);
    EXPECT_EQ(parts.logged("whose claim was not answered"), 1u);
}

WEIR_TEST(Claimer, ReturnsTasksThatComeAfterItIsClosed) {
    components parts;
    parts.handlers.add("work", do_nothing, {});
    co_await parts.register_node();
    co_await parts.submit(new_task("work"));
    parts.memory.on_call([&](store_call which) {
        if (which == store_call::claim) {
            parts.claimer.close();
        }
        return store_fault::none;
    });
    auto body = [&](task_group& group) { return parts.claimer.run(group); };
    co_await with_group(body);
    EXPECT_EQ(parts.stats().started, 0u);
    EXPECT_TRUE(parts.settler.has_unsettled());
}

}  // namespace
}  // namespace weir::service::testing
