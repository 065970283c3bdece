// SPDX-License-Identifier: MIT
// The three ways to shut down, for worker pools and task managers.

#include "support.hpp"

#include <weir/flow/shutdown_mode.hpp>
#include <weir/flow/task_manager.hpp>
#include <weir/flow/worker_pool.hpp>

namespace {

using namespace flow_tests;
using weir::job_handle;
using weir::job_status;
using weir::refusal_reason;
using weir::shutdown_mode;
using weir::task_manager;
using weir::task_state;
using weir::worker_pool;

task<int> twice(int number) {
    co_await weir::sleep(100ms);
    co_return number * 2;
}
task<> idle(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
}

WEIR_TEST(ShutdownMode, AWorkerPoolDrains) {
    worker_pool pool({.workers = 2, .queue = 10});
    std::vector<job_handle<int>> jobs;
    for (int i = 0; i < 8; ++i) {
        jobs.push_back(co_await pool.submit(twice, i));
    }
    const auto begin = weir::now();
    auto closing = weir::spawn(pool.close());
    co_await settle_all();
    WEIR_EXPECT_THROW_WITH(pool.submit(twice, 9), weir::refused, "shut down");
    EXPECT_TRUE(pool.is_closed());
    co_await closing;
    EXPECT_EQ(weir::now() - begin, 400ms);
    for (int i = 0; i < 8; ++i) {
        const int value = co_await jobs[static_cast<std::size_t>(i)];
        EXPECT_EQ(value, 2 * i);
    }
    co_await pool.close();  // again: at once
}

WEIR_TEST(ShutdownMode, AWorkerPoolFinishesRunningJobs) {
    worker_pool pool({.workers = 1});
    job_handle<int> running = co_await pool.submit(twice, 1);
    job_handle<int> queued = co_await pool.submit(twice, 2);
    co_await pool.close(shutdown_mode::finish_running);
    const int value = co_await running;
    EXPECT_EQ(value, 2);
    WEIR_EXPECT_THROW_WITH(queued, weir::cancelled, "shut down");
}

WEIR_TEST(ShutdownMode, AWorkerPoolWithAFullQueueStopsAtOnce) {
    worker_pool pool({.workers = 2, .queue = 3});
    std::vector<job_handle<>> jobs;
    for (int i = 0; i < 5; ++i) {
        jobs.push_back(co_await pool.submit(idle, 1h));
    }
    auto submit = [&]() -> task<refusal_reason> {
        const auto late = co_await pool.offer(idle, 1h);
        co_return late.refusal().reason;
    };
    auto one = weir::spawn(submit);
    auto two = weir::spawn(submit);
    co_await settle_all();
    const auto begin = weir::now();
    co_await pool.close(shutdown_mode::now);
    EXPECT_EQ(weir::now() - begin, 0s);
    for (const job_handle<>& each : jobs) {
        EXPECT_EQ(each.status(), job_status::cancelled);
    }
    const refusal_reason first = co_await one;
    EXPECT_EQ(first, refusal_reason::shut_down);
    const refusal_reason second = co_await two;
    EXPECT_EQ(second, refusal_reason::shut_down);
}

WEIR_TEST(ShutdownMode, ADrainCanBeCutShort) {
    worker_pool pool({.workers = 1});
    job_handle<> slow = co_await pool.submit(idle, 1h);
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, pool.close()));
    co_await pool.close(shutdown_mode::now);
    EXPECT_EQ(slow.status(), job_status::cancelled);
}

WEIR_TEST(ShutdownMode, ATaskManagerDrains) {
    task_manager manager({.concurrency = 1});
    for (int i = 0; i < 3; ++i) {
        (void)co_await manager.submit(idle, 10ms);
    }
    auto closing = weir::spawn(manager.close());
    co_await settle_all();
    WEIR_EXPECT_THROW_WITH(manager.submit(idle, 1ms), weir::refused, "shut down");
    co_await closing;
    EXPECT_EQ(manager.stats().completed, 3u);
    EXPECT_TRUE(manager.is_closed());
}

WEIR_TEST(ShutdownMode, ATaskManagerFinishesRunningTasks) {
    task_manager manager({.concurrency = 1});
    const std::string running = co_await manager.submit(idle, 10ms);
    const std::string pending = co_await manager.submit(idle, 10ms);
    co_await settle_all();
    co_await manager.close(shutdown_mode::finish_running);
    const auto first = co_await manager.get(running);
    EXPECT_EQ(first->state, task_state::completed);
    const auto second = co_await manager.get(pending);
    EXPECT_EQ(second->state, task_state::cancelled);
}

WEIR_TEST(ShutdownMode, ATaskManagerStopsAtOnce) {
    task_manager manager({.concurrency = 1});
    const auto begin = weir::now();
    std::vector<std::string> ids;
    for (int i = 0; i < 3; ++i) {
        ids.push_back(co_await manager.submit(idle, 1h));
    }
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, manager.close()));
    co_await manager.close(shutdown_mode::now);
    EXPECT_EQ(weir::now() - begin, 1s);
    for (const std::string& id : ids) {
        const auto record = co_await manager.get(id);
        EXPECT_EQ(record->state, task_state::cancelled);
        EXPECT_NE(record->error.find("shut down"), std::string::npos);
    }
}

}  // namespace
