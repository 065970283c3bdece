// SPDX-License-Identifier: MIT
#include "service/engine/runner.hpp"

#include "components.hpp"

namespace weir::service::testing {
namespace {

task_record claimed_task(std::string kind, std::int64_t id = 1) {
    task_record record;
    record.kind = std::move(kind);
    record.id = task_id(id);
    record.state = task_state::running;
    record.run = 1;
    return record;
}

WEIR_TEST(Runner, HandsTheEndOfARunToTheSettler) {
    components parts;
    parts.leases.take_first();
    parts.handlers.add("work", do_nothing, {});
    auto body = [&](task_group& group) -> task<> {
        task_record task = claimed_task("work");
        EXPECT_FALSE(parts.runner.start(task, parts.leases.current(), false, group).has_value());
        EXPECT_TRUE(parts.runner.is_running(task_id(1)));
        co_await parts.runner.wait_until_idle();
    };
    co_await with_group(body);
    std::vector<run_key> ended;
    parts.settler.append_unsettled(parts.leases.current(), ended);
    WEIR_ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended.front().id, task_id(1));
    EXPECT_EQ(parts.stats().started, 1u);
}

WEIR_TEST(Runner, RefusesAnUnknownKind) {
    components parts;
    parts.leases.take_first();
    auto body = [&](task_group& group) -> task<> {
        task_record task = claimed_task("unknown");
        const auto refused = parts.runner.start(task, parts.leases.current(), false, group);
        EXPECT_TRUE(refused.has_value());
        EXPECT_EQ(refused->reason, "no handler for 'unknown'");
        EXPECT_EQ(task.kind, "unknown") << "it is left as it is";
        EXPECT_EQ(parts.runner.running(), 0u);
        co_return;
    };
    co_await with_group(body);
}

WEIR_TEST(Runner, RunsOneTaskAtATimeThatOneMoreCrashFails) {
    components parts({.max_crashes = 2});
    parts.leases.take_first();
    parts.handlers.add("work", wait_for_stop, {});
    auto body = [&](task_group& group) -> task<> {
        task_record first = claimed_task("work", 1);
        task_record second = claimed_task("work", 2);
        first.crashes = second.crashes = 1;
        EXPECT_FALSE(parts.runner.start(first, parts.leases.current(), false, group).has_value());
        EXPECT_TRUE(parts.runner.start(second, parts.leases.current(), false, group).has_value());
        parts.runner.stop_all(detail::stop_cause::given_back);
        co_return;
    };
    co_await with_group(body);
}

WEIR_TEST(Runner, KeepsAStoppedRunUntilItsHandlerEnds) {
    components parts;
    parts.leases.take_first();
    event may_end;
    parts.handlers.add("slow",
                       [&](job&) -> task<json> {
                           co_await shield(may_end.wait());
                           co_return nullptr;
                       },
                       {});
    auto body = [&](task_group& group) -> task<> {
        const any_handle watching = group.spawn(parts.runner.watch());
        task_record task = claimed_task("slow");
        parts.runner.start(task, parts.leases.current(), false, group);
        co_await settle_all();
        parts.runner.cancel(task_id(1));
        co_await sleep(1min);
        EXPECT_EQ(parts.runner.running(), 1u);
        EXPECT_FALSE(parts.settler.has_unsettled());
        EXPECT_EQ(parts.logged("does not respond to the stop"), 1u);
        may_end.set();
        co_await parts.runner.wait_until_idle();
        EXPECT_TRUE(parts.settler.has_unsettled());
        watching.cancel();
    };
    co_await with_group(body);
}

}  // namespace
}  // namespace weir::service::testing
