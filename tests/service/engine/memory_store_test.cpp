// SPDX-License-Identifier: MIT
// The faults of the memory store. The rules of stores are tested in tests/service/store.

#include "support.hpp"

#include <weir/service/memory_store.hpp>

namespace weir::service::testing {
namespace {

constexpr timestamp at{std::chrono::hours(1)};

task<std::size_t> count_tasks(memory_store& store) {
    const std::vector<task_record> all = co_await store.list({}, at);
    co_return all.size();
}

task<> submit_one(memory_store& store) {
    std::vector<new_task> batch(1, new_task("work"));
    co_await store.submit(std::move(batch), at);
}

WEIR_TEST(MemoryStore, FailsBeforeOrAfterTheChange) {
    memory_store store;
    store_fault fault = store_fault::fails;
    store.on_call(
        [&](store_call which) { return which == store_call::submit ? fault : store_fault::none; });
    WEIR_EXPECT_THROW(submit_one(store), store_unavailable);
    const std::size_t unchanged = co_await count_tasks(store);
    EXPECT_EQ(unchanged, 0u);
    fault = store_fault::fails_after;
    WEIR_EXPECT_THROW(submit_one(store), store_unavailable);
    const std::size_t changed = co_await count_tasks(store);
    EXPECT_EQ(changed, 1u);
}

WEIR_TEST(MemoryStore, HangsUntilItIsStopped) {
    memory_store store;
    store.on_call([](store_call which) {
        return which == store_call::submit ? store_fault::hangs_after : store_fault::none;
    });
    const handle<> submitting = weir::spawn(submit_one(store));
    co_await sleep(1h);
    EXPECT_FALSE(submitting.done());
    submitting.cancel();
    co_await submitting.wait();
    const std::size_t changed = co_await count_tasks(store);
    EXPECT_EQ(changed, 1u);
}

WEIR_TEST(MemoryStore, TakesItsLatency) {
    memory_store store(20ms);
    const clock::time_point begun = weir::now();
    co_await submit_one(store);
    EXPECT_EQ(weir::now() - begun, 20ms);
}

}  // namespace
}  // namespace weir::service::testing
