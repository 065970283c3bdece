// SPDX-License-Identifier: MIT
// Waiting for the end of tasks, without a store.

#include "service/api/end_waiters.hpp"

#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace weir::service;
using weir::task;
using weir::service::detail::end_waiters;

void tell(end_waiters& all, std::int64_t number, task_view view) {
    task_event event;
    event.id = task_id(number);
    event.view = view;
    all.changed(std::span(&event, 1));
}

// How long it has waited.
task<weir::clock::duration> wait_for(end_waiters& all, std::int64_t number,
                                     weir::clock::duration limit) {
    const weir::clock::time_point begun = weir::now();
    end_waiters::waiter ended(all, task_id(number));
    co_await ended.wait(limit);
    co_return weir::now() - begun;
}

WEIR_TEST(EndWaiters, WakeAtTheEndOfTheirTaskAlone) {
    end_waiters all;
    const auto first = weir::spawn(wait_for(all, 1, 30s));
    const auto second = weir::spawn(wait_for(all, 1, 30s));
    const auto other = weir::spawn(wait_for(all, 2, 30s));
    co_await weir::testing::advance(1s);
    EXPECT_EQ(all.size(), 3u);
    for (const task_view view :
         {task_view::running, task_view::retrying, task_view::cancelling, task_view::pending}) {
        tell(all, 1, view);
    }
    co_await weir::testing::advance(1s);
    EXPECT_EQ(all.size(), 3u);
    tell(all, 1, task_view::failed);
    const auto waited = co_await first;
    EXPECT_EQ(waited, 2s);
    const auto waited_too = co_await second;
    EXPECT_EQ(waited_too, 2s);
    EXPECT_EQ(all.size(), 1u);
    const auto in_vain = co_await other;
    EXPECT_EQ(in_vain, 30s);
    EXPECT_EQ(all.size(), 0u);
}

WEIR_TEST(EndWaiters, AnEndBeforeTheWaitIsNotMissed) {
    end_waiters all;
    end_waiters::waiter ended(all, task_id(1));
    tell(all, 1, task_view::completed);
    const weir::clock::time_point begun = weir::now();
    co_await ended.wait(30s);
    EXPECT_EQ(weir::now(), begun);
}

WEIR_TEST(EndWaiters, AStoppedWaiterLeaves) {
    end_waiters all;
    std::vector<weir::handle<weir::clock::duration>> waiting;
    for (int i = 0; i < 1000; ++i) {
        waiting.push_back(weir::spawn(wait_for(all, i % 10, 30s)));
    }
    co_await weir::testing::settle_all();
    EXPECT_EQ(all.size(), 1000u);
    for (std::size_t i = 0; i < 500; ++i) {
        waiting[i].cancel();
        co_await waiting[i].wait();
    }
    EXPECT_EQ(all.size(), 500u);
    const weir::clock::time_point begun = weir::now();
    all.release_all();
    for (std::size_t i = 500; i < 1000; ++i) {
        co_await waiting[i].wait();
    }
    EXPECT_EQ(all.size(), 0u);
    EXPECT_EQ(weir::now(), begun);
}

}  // namespace
