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

}  // namespace
}  // namespace weir::service::testing
