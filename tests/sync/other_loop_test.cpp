// SPDX-License-Identifier: MIT
// Two loops share a primitive, which is a mistake: a primitive belongs to one loop. Whatever would
// wait, wake or be woken across the loops is refused, without debug mode too.

#include "support.hpp"
#include <support/loops.hpp>

#include <weir/sync/shared_mutex.hpp>
#include <weir/sync/watch.hpp>

#include <string>
#include <thread>

namespace {

using namespace sync_tests;

weir::loop_options release_loop() {
    weir::loop_options options = weir_test::simulated();
    options.debug = false;
    return options;
}

// Runs `here` on one loop; the task it returns runs on another, on a thread of its own, while the
// first one waits.
template <class Body>
void on_another_loop(Body body) {
    std::thread([&] { weir::run(body(), release_loop()); }).join();
}

template <class Work>
task<> expect_refused(Work work, const char* part) {
    const auto ended = co_await weir::settle(work());
    EXPECT_FALSE(ended.has_value()) << part;
    if (!ended.has_value()) {
        const std::string said = weir::describe(ended.error());
        EXPECT_TRUE(weir_test::contains(said, part)) << said;
    }
}

constexpr const char* belongs_elsewhere = "belongs to another loop";
constexpr const char* wrong_thread = "called on a thread that does not run this loop";

TEST(OtherLoop, AMutexSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::mutex mutex;
        auto held = co_await mutex.lock();
        auto waits = [&]() -> task<> { auto lock = co_await mutex.lock(); };
        auto waiter = weir::spawn(waits);
        co_await settle_all();
        on_another_loop([&]() -> task<> {
            co_await expect_refused(waits, belongs_elsewhere);
            EXPECT_FALSE(mutex.try_lock());
            EXPECT_THROW(mutex.release(), weir::wrong_thread);
        });
        EXPECT_FALSE(waiter.done());
        held.unlock();
        co_await waiter;
    };
    weir::run(body(), release_loop());
}

// A destructor cannot throw: unlocking on the wrong loop ends the program, and says why.
TEST(OtherLoopDeathTest, AGuardThatUnlocksOnAnotherLoop) {
    auto body = []() -> task<> {
        weir::mutex mutex;
        auto held = co_await mutex.lock();
        auto waits = [&]() -> task<> { auto lock = co_await mutex.lock(); };
        auto waiter = weir::spawn(waits);
        co_await settle_all();
        std::thread([&] { auto taken = std::move(held); }).join();
        co_await waiter;
    };
    EXPECT_DEATH(weir::run(body(), release_loop()), "mutex: unlock");
}

TEST(OtherLoop, AQueueSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::queue<int> empty(1);
        weir::queue<int> full(1);
        full.put_now(0);
        auto gets = [&]() -> task<> { co_await empty.get(); };
        auto puts = [&]() -> task<> { co_await full.put(1); };
        auto getter = weir::spawn(gets);
        auto putter = weir::spawn(puts);
        co_await settle_all();
        on_another_loop([&]() -> task<> {
            auto gets_full = [&]() -> task<> { co_await full.get(); };
            auto puts_empty = [&]() -> task<> { co_await empty.put(1); };
            co_await expect_refused(gets, belongs_elsewhere);
            co_await expect_refused(puts, belongs_elsewhere);
            co_await expect_refused(gets_full, wrong_thread);
            co_await expect_refused(puts_empty, wrong_thread);
            EXPECT_THROW(empty.put_now(1), weir::wrong_thread);
            EXPECT_THROW(full.get_now(), weir::wrong_thread);
            EXPECT_THROW(empty.close(), weir::wrong_thread);
        });
        EXPECT_EQ(full.size(), 1u);
        EXPECT_EQ(empty.size(), 0u);
        empty.put_now(1);
        full.get_now();
        co_await getter;
        co_await putter;
    };
    weir::run(body(), release_loop());
}

TEST(OtherLoop, ASemaphoreSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::semaphore semaphore(0);
        auto waits = [&]() -> task<> { auto permit = co_await semaphore.acquire(); };
        auto waiter = weir::spawn(waits);
        co_await settle_all();
        on_another_loop([&]() -> task<> {
            co_await expect_refused(waits, belongs_elsewhere);
            EXPECT_THROW(semaphore.release(), weir::wrong_thread);
        });
        EXPECT_FALSE(waiter.done());
        semaphore.release();
        co_await waiter;
    };
    weir::run(body(), release_loop());
}

TEST(OtherLoop, AnEventSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::event event;
        auto waits = [&]() -> task<> { co_await event.wait(); };
        auto waiter = weir::spawn(waits);
        co_await settle_all();
        on_another_loop([&]() -> task<> {
            co_await expect_refused(waits, belongs_elsewhere);
            EXPECT_THROW(event.set(), weir::wrong_thread);
        });
        EXPECT_FALSE(waiter.done());
        event.set();
        co_await waiter;
    };
    weir::run(body(), release_loop());
}

TEST(OtherLoop, ASharedMutexSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::shared_mutex mutex;
        auto writing = co_await mutex.lock();
        auto reads = [&]() -> task<> { auto lock = co_await mutex.lock_shared(); };
        auto writes = [&]() -> task<> { auto lock = co_await mutex.lock(); };
        auto reader = weir::spawn(reads);
        auto writer = weir::spawn(writes);
        co_await settle_all();
        on_another_loop([&]() -> task<> {
            co_await expect_refused(reads, belongs_elsewhere);
            co_await expect_refused(writes, belongs_elsewhere);
            EXPECT_FALSE(mutex.try_lock_shared());
        });
        EXPECT_FALSE(reader.done());
        writing.unlock();
        co_await reader;
        co_await writer;
    };
    weir::run(body(), release_loop());
}

TEST(OtherLoopDeathTest, ASharedMutexThatIsUnlockedOnAnotherThread) {
    auto body = []() -> task<> {
        weir::shared_mutex mutex;
        auto writing = co_await mutex.lock();
        auto reads = [&]() -> task<> { auto lock = co_await mutex.lock_shared(); };
        auto reader = weir::spawn(reads);
        co_await settle_all();
        std::thread([&] { writing.unlock(); }).join();
        co_await reader;
    };
    EXPECT_DEATH(weir::run(body(), release_loop()), "shared_mutex: unlock");
}

TEST(OtherLoop, AConditionSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::condition condition;
        auto waits = [&]() -> task<> {
            auto lock = co_await condition.lock();
            co_await condition.wait();
        };
        auto waiter = weir::spawn(waits);
        co_await settle_all();
        auto lock = co_await condition.lock();
        on_another_loop([&]() -> task<> {
            auto waits_locked = [&]() -> task<> { co_await condition.wait(); };
            co_await expect_refused(waits_locked, belongs_elsewhere);
            EXPECT_THROW(condition.notify(), weir::wrong_thread);
            EXPECT_THROW(condition.notify_all(), weir::wrong_thread);
        });
        EXPECT_FALSE(waiter.done());
        condition.notify();
        lock.unlock();
        co_await waiter;
    };
    weir::run(body(), release_loop());
}

TEST(OtherLoop, ABarrierSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::barrier barrier(2);
        auto waits = [&]() -> task<> { co_await barrier.wait(); };
        auto waiter = weir::spawn(waits);
        co_await settle_all();
        on_another_loop([&]() -> task<> {
            co_await expect_refused(waits, belongs_elsewhere);  // the last one of the round
            EXPECT_THROW(barrier.reset(), weir::wrong_thread);
            EXPECT_THROW(barrier.abort(), weir::wrong_thread);
        });
        EXPECT_FALSE(waiter.done());
        EXPECT_FALSE(barrier.broken());
        EXPECT_EQ(barrier.waiting(), 1u);
        co_await barrier.wait();
        co_await waiter;
    };
    weir::run(body(), release_loop());
}

TEST(OtherLoop, AWatchSharedByTwoLoops) {
    auto body = []() -> task<> {
        weir::watch<int> watch(1);
        auto waits = [&]() -> task<> {
            auto follower = watch.follow();
            co_await follower.next();
            co_await follower.next();
        };
        auto waiter = weir::spawn(waits);
        co_await settle_all();
        on_another_loop([&]() -> task<> {
            co_await expect_refused(waits, belongs_elsewhere);
            EXPECT_THROW(watch.set(2), weir::wrong_thread);
            EXPECT_THROW(watch.close(), weir::wrong_thread);
        });
        EXPECT_FALSE(waiter.done());
        watch.set(2);
        watch.set(3);
        co_await settle_all();
        watch.close();
        co_await waiter.wait();
    };
    weir::run(body(), release_loop());
}

}  // namespace
