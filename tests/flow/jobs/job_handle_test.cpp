// SPDX-License-Identifier: MIT
// Handles of a worker pool's jobs: waiting, cancelling, and empty ones.

#include "support.hpp"

#include <weir/flow/job_handle.hpp>
#include <weir/flow/worker_pool.hpp>

namespace {

using namespace flow_tests;
using weir::job_handle;
using weir::job_status;
using weir::worker_pool;

task<int> twice(int number) {
    co_await weir::sleep(100ms);
    co_return number * 2;
}
task<> idle(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
}

WEIR_TEST(JobHandle, WaitingWithATimeout) {
    worker_pool pool({.workers = 1});
    job_handle<int> slow = co_await pool.submit({.id = "slow"}, twice, 1);
    const auto begin = weir::now();
    WEIR_EXPECT_TIMEOUT(weir::timeout(0s, slow));  // not for ever
    EXPECT_EQ(weir::now() - begin, 0s);
    WEIR_EXPECT_TIMEOUT(weir::timeout(30ms, pool.get<int>("slow")));
    EXPECT_EQ(weir::now() - begin, 30ms);
    EXPECT_EQ(slow.status(), job_status::running);  // giving up waiting is not giving up the job
    const int value = co_await weir::timeout(1s, slow);
    EXPECT_EQ(value, 2);
    weir::testing::in_ordinary_order();  // no yield is forced on what need not wait
    co_await weir::yield();
    const int at_once = co_await weir::timeout(0s, pool.get<int>("slow"));
    EXPECT_EQ(at_once, 2);
    co_await pool.close();
}

WEIR_TEST(JobHandle, CancelQueuedNeverRuns) {
    worker_pool pool({.workers = 1});
    bool has_run = false;
    (void)co_await pool.submit(idle, 100ms);
    job_handle<> victim = co_await pool.submit({.id = "victim"}, [&] { has_run = true; });
    EXPECT_TRUE(pool.cancel("victim", "changed my mind"));
    EXPECT_EQ(victim.status(), job_status::cancelled);
    EXPECT_FALSE(victim.cancel());
    EXPECT_FALSE(pool.cancel("nobody"));
    WEIR_EXPECT_THROW_WITH(victim, weir::cancelled, "changed my mind");
    co_await pool.close();
    EXPECT_FALSE(has_run);
    EXPECT_EQ(pool.stats().cancelled, 1u);
}

WEIR_TEST(JobHandle, CancelRunningStopsIt) {
    worker_pool pool({.workers = 1});
    bool cleaned_up = false;
    auto work = [&]() -> task<> {
        auto clean_up = [&]() -> task<> {
            co_await weir::sleep(5ms);
            cleaned_up = true;
        };
        co_await weir::finally(weir::sleep_forever(), clean_up);
    };
    job_handle<> victim = co_await pool.submit(work);
    job_handle<int> next = co_await pool.submit(twice, 3);
    co_await weir::sleep(1ms);
    EXPECT_TRUE(victim.cancel("enough"));
    WEIR_EXPECT_THROW_WITH(victim, weir::cancelled, "enough");
    EXPECT_TRUE(cleaned_up);
    const int value = co_await next;
    EXPECT_EQ(value, 6);
    co_await pool.close();
}

// Before its first step, and on its own.
WEIR_TEST(JobHandle, CancelAtTheEdges) {
    worker_pool pool({.workers = 1});
    bool has_run = false;
    job_handle<> unstarted = co_await pool.submit([&] { has_run = true; });
    EXPECT_EQ(unstarted.status(), job_status::running);  // has a worker, and has not taken a step
    EXPECT_TRUE(unstarted.cancel());
    WEIR_EXPECT_CANCELLED(unstarted);
    EXPECT_FALSE(has_run);
    auto cancel_self = [&]() -> task<int> {
        EXPECT_TRUE(pool.cancel("self"));
        co_return 1;
    };
    job_handle<int> self = co_await pool.submit({.id = "self"}, cancel_self);
    WEIR_EXPECT_CANCELLED(self);
    EXPECT_EQ(self.status(), job_status::cancelled);
    auto answer = [&]() -> task<int> {
        (void)co_await weir::intercept(weir::sleep_forever());
        co_return 5;
    };
    job_handle<int> stubborn = co_await pool.submit(answer);
    co_await settle_all();
    EXPECT_TRUE(stubborn.cancel());
    const int value = co_await stubborn;  // it answered the stop with a value
    EXPECT_EQ(value, 5);
    co_await pool.close();
}

WEIR_TEST(JobHandle, OutlivesItsPool) {
    auto pool = std::make_unique<worker_pool>(weir::worker_pool_options{.workers = 1});
    job_handle<int> left = co_await pool->submit([] { return 1; });
    co_await pool->close();
    pool.reset();
    co_await settle_all();
    EXPECT_FALSE(left.cancel());
    const int value = co_await left;
    EXPECT_EQ(value, 1);
}

TEST(JobHandle, AnEmptyOneSaysSo) {
    const job_handle<int> empty;
    EXPECT_FALSE(empty.valid());
    EXPECT_FALSE(empty);
    EXPECT_THROW((void)empty.id(), weir::invalid_state);
    EXPECT_THROW((void)empty.cancel(), weir::invalid_state);
}

TEST(JobHandle, StatesHaveNames) {
    EXPECT_EQ(to_string(job_status::queued), "queued");
    EXPECT_EQ(to_string(job_status::cancelled), "cancelled");
    EXPECT_FALSE(is_final(job_status::running));
    EXPECT_TRUE(is_final(job_status::failed));
}

}  // namespace
