// SPDX-License-Identifier: MIT
#include "service/engine/scheduler.hpp"

#include "components.hpp"

#include <weir/service/cron.hpp>

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

}  // namespace
}  // namespace weir::service::testing
