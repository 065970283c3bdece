// SPDX-License-Identifier: MIT
// What the body of a managed task can do: report progress and notice a stop, on the loop and on
// threads.

#include "support.hpp"
#include "task_stores.hpp"

#include <weir/flow/task_context.hpp>
#include <weir/flow/task_manager.hpp>

#include <cmath>

namespace {

using namespace flow_tests;
using weir::task_context;
using weir::task_manager;

WEIR_TEST(TaskContext, ProgressIsSeen) {
    task_manager manager;
    auto work = [](task_context& context) -> task<> {
        context.progress(0.4, "step 2");
        co_await weir::sleep(10ms);
        context.progress(7.0);
        co_await weir::sleep(10ms);
        EXPECT_THROW(context.progress(std::nan("")), weir::invalid_argument);
    };
    const std::string id = co_await manager.submit(work);
    co_await weir::sleep(5ms);
    const auto first = co_await manager.get(id);
    EXPECT_EQ(first->progress, 0.4);
    EXPECT_EQ(first->message, "step 2");
    co_await weir::sleep(10ms);
    const auto listed = co_await manager.list();
    WEIR_ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].progress, 1.0);
    co_await manager.close();
}

WEIR_TEST(TaskContext, ProgressIsStored) {
    weir::memory_task_store store;
    task_manager manager({.store = &store});
    auto work = [](task_context& context) -> task<> {
        context.progress(0.2);
        context.progress(0.4, "step 2");
        co_await weir::sleep(1s);
        context.progress(0.6);
        co_await weir::sleep(1s);
    };
    const std::string id = co_await manager.submit(work);
    co_await weir::sleep(500ms);
    const auto first = co_await store.get(id);
    EXPECT_EQ(first->progress, 0.4);
    EXPECT_EQ(first->message, "step 2");
    co_await weir::sleep(1s);
    const auto second = co_await store.get(id);
    EXPECT_EQ(second->progress, 0.6);
    co_await manager.close();
}

WEIR_TEST(TaskContext, FunctionsThatBlockRunOnTheExecutor) {
    simulated_executor threads(50ms);
    task_manager manager({.executor = &threads});
    const std::string id = co_await manager.submit([](int a, int b) { return a + b; }, 2, 3);
    const int sum = co_await manager.result<int>(id);
    EXPECT_EQ(sum, 5);
    const std::string bad = co_await manager.submit([]() -> int { throw test_error("disk"); });
    WEIR_EXPECT_THROW_WITH(manager.result<int>(bad), test_error, "disk");
    EXPECT_EQ(threads.count, 2);
    bool was_told = false;
    auto asks = [&](weir::blocking_context& context) {
        was_told = context.stop_requested();
        return 1;
    };
    const std::string stopped = co_await manager.submit(asks);
    co_await weir::sleep(10ms);
    const bool cancelled = co_await manager.cancel(stopped);  // waits until it has returned
    EXPECT_TRUE(cancelled);
    EXPECT_TRUE(was_told);
    EXPECT_EQ(threads.count, 3);
    co_await manager.close();

    task_manager without;
    EXPECT_THROW((void)without.submit([] { return 1; }), weir::invalid_state);
    co_await without.close();
}

WEIR_TEST(TaskContext, FunctionsThatBlockOnRealThreads) {
    thread_executor threads;
    task_manager manager({.executor = &threads});
    const std::thread::id loop_thread = std::this_thread::get_id();
    auto work = [loop_thread](weir::blocking_context& context, std::string text) {
        EXPECT_NE(std::this_thread::get_id(), loop_thread);
        context.progress(0.5, "on a thread");
        return text + "!";
    };
    std::vector<std::string> ids;
    for (int i = 0; i < 8; ++i) {
        ids.push_back(co_await manager.submit(work, std::to_string(i)));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string text = co_await manager.result<std::string>(ids[i]);
        EXPECT_EQ(text, std::to_string(i) + "!");
    }
    co_await manager.close();
}

}  // namespace
