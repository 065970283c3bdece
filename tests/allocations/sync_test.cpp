// SPDX-License-Identifier: MIT
// After warm-up, waiting for and passing on locks, permits, signals and items allocates nothing.

#include "allocations/counting.hpp"

#include <weir/sync/condition.hpp>
#include <weir/sync/event.hpp>
#include <weir/sync/mutex.hpp>
#include <weir/sync/queue.hpp>
#include <weir/sync/semaphore.hpp>

namespace {

using counting::in_steady_state;
using weir::task;

// Two runs of the body side by side, so that one waits for the other.
template <class Body>
task<> twice(Body& body) {
    const auto other = weir::spawn(body());
    co_await body();
    co_await other;
}

TEST(Allocations, Mutex) {
    weir::mutex mutex;
    auto body = [&mutex]() -> task<> {
        const auto guard = co_await mutex.lock();
        co_await weir::yield();
    };
    auto once = [&body]() -> task<> { co_await twice(body); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Semaphore) {
    weir::semaphore semaphore(1);
    auto body = [&semaphore]() -> task<> {
        const auto permit = co_await semaphore.acquire();
        co_await weir::yield();
    };
    auto once = [&body]() -> task<> { co_await twice(body); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Event) {
    weir::event event;
    auto waiter = [&event]() -> task<> { co_await event.wait(); };
    auto once = [&]() -> task<> {
        event.clear();
        const auto waits = weir::spawn(waiter());
        co_await weir::yield();
        event.set();
        co_await waits;
        co_await event.wait();
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Condition) {
    weir::condition changed;
    bool ready = false;
    auto waiter = [&]() -> task<> {
        const auto guard = co_await changed.lock();
        while (!ready) {
            co_await changed.wait();
        }
    };
    auto once = [&]() -> task<> {
        ready = false;
        const auto waits = weir::spawn(waiter());
        co_await weir::yield();
        {
            const auto guard = co_await changed.lock();
            ready = true;
            changed.notify();
        }
        co_await waits;
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Queue) {
    weir::queue<int> queue(2);
    auto putter = [&queue]() -> task<> {
        for (int item = 0; item < 8; ++item) {
            co_await queue.put(item);
        }
    };
    auto once = [&]() -> task<> {
        const auto puts = weir::spawn(putter());
        for (int item = 0; item < 8; ++item) {
            const int got = co_await queue.get();
            EXPECT_EQ(got, item);
        }
        co_await puts;
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, GivingUpAWait) {
    weir::mutex mutex;
    weir::queue<int> queue(1);
    auto once = [&]() -> task<> {
        const auto guard = co_await mutex.lock();
        auto locks = [&mutex]() -> task<> { const auto second = co_await mutex.lock(); };
        auto gets = [&queue]() -> task<> { co_await queue.get(); };
        const auto first = weir::spawn(locks());
        const auto second = weir::spawn(gets());
        co_await weir::yield();
        first.cancel();
        second.cancel();
        co_await first.wait();
        co_await second.wait();
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
