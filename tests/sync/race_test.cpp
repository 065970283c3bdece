// SPDX-License-Identifier: MIT
// Grants, timeouts and cancels at the same instant, and a cancel at every step of a wait.

#include "support.hpp"

namespace {

using namespace sync_tests;

// The lock is released at the very moment at which the waiter's time is up.
TEST(SyncRace, LockAndTimeout) {
    bool has_timed_out = false;
    bool has_locked = false;
    expect_always(
        [&]() -> task<> {
            weir::mutex mutex;
            auto hold = [&]() -> task<> {
                auto lock = co_await mutex.lock();
                co_await weir::sleep(1s);
            };
            auto attempt = [&]() -> task<> {
                try {
                    auto lock = co_await weir::timeout(1s, mutex.lock());
                    has_locked = true;
                } catch (const weir::timed_out&) {
                    has_timed_out = true;
                }
            };
            auto holder = weir::spawn({.start = weir::start::eager}, hold);
            auto one = weir::spawn({.start = weir::start::eager}, attempt);
            auto two = weir::spawn({.start = weir::start::eager}, attempt);
            co_await holder;
            co_await one;
            co_await two;
            EXPECT_FALSE(mutex.locked());
            EXPECT_TRUE(mutex.try_lock().has_value());
        },
        200);
    EXPECT_TRUE(has_timed_out);
}

TEST(SyncRace, ItemAndTimeout) {
    expect_always(
        []() -> task<> {
            weir::queue<int> queue(1);
            std::vector<int> got;
            auto attempt = [&]() -> task<> {
                try {
                    const int item = co_await weir::timeout(1s, queue.get());
                    got.push_back(item);
                } catch (const weir::timed_out&) {
                }
            };
            auto put = [&]() -> task<> {
                co_await weir::sleep(1s);
                co_await queue.put(1);
            };
            auto putter = weir::spawn({.start = weir::start::eager}, put);
            auto one = weir::spawn({.start = weir::start::eager}, attempt);
            auto two = weir::spawn({.start = weir::start::eager}, attempt);
            co_await putter;
            co_await one;
            co_await two;
            EXPECT_EQ(got.size() + queue.size(), 1u);
            EXPECT_EQ(queue.try_get().has_value(), got.empty());
        },
        200);
}

TEST(SyncRace, PlaceAndTimeout) {
    expect_always(
        []() -> task<> {
            weir::queue<int> queue(1);
            queue.put_now(0);
            int put = 1;
            auto attempt = [&]() -> task<> {
                try {
                    co_await weir::timeout(1s, queue.put(1));
                    ++put;
                } catch (const weir::timed_out&) {
                }
            };
            auto get = [&]() -> task<> {
                co_await weir::sleep(1s);
                (void)co_await queue.get();
            };
            auto getter = weir::spawn({.start = weir::start::eager}, get);
            auto one = weir::spawn({.start = weir::start::eager}, attempt);
            auto two = weir::spawn({.start = weir::start::eager}, attempt);
            co_await getter;
            co_await one;
            co_await two;
            EXPECT_EQ(queue.size(), static_cast<std::size_t>(put - 1));
            EXPECT_EQ(queue.unfinished(), static_cast<std::size_t>(put));
            EXPECT_EQ(queue.full(), put == 2);
        },
        200);
}

// Notified at the moment at which the time is up: it may say either, and the lock is held either
// way.
TEST(SyncRace, NotificationAndTimeout) {
    expect_always(
        []() -> task<> {
            weir::condition condition;
            int notified = 0;
            auto attempt = [&]() -> task<> {
                auto lock = co_await condition.lock();
                try {
                    co_await weir::timeout(1s, condition.wait());
                    ++notified;
                } catch (const weir::timed_out&) {
                }
                EXPECT_TRUE(condition.locked());
                lock.unlock();
            };
            auto notify = [&]() -> task<> {
                co_await weir::sleep(1s);
                auto lock = co_await condition.lock();
                condition.notify();
            };
            auto notifier = weir::spawn({.start = weir::start::eager}, notify);
            auto one = weir::spawn({.start = weir::start::eager}, attempt);
            auto two = weir::spawn({.start = weir::start::eager}, attempt);
            co_await notifier;
            co_await one;
            co_await two;
            EXPECT_LE(notified, 1);
            EXPECT_FALSE(condition.locked());
        },
        200);
}

// A consumer is cancelled after 0, 1, 2... turns of the loop; the rest must come out right each
// time.
TEST(SyncRace, CancelAtEveryStep) {
    for (int steps = 0; steps < 60; ++steps) {
        expect_always(
            [steps]() -> task<> {
                weir::queue<int> queue(2);
                weir::semaphore slots(1);
                weir::mutex mutex;
                std::vector<int> got;
                auto consumer = [&]() -> task<> {
                    for (;;) {
                        auto permit = co_await slots.acquire();
                        auto item = co_await queue.next();
                        if (!item.has_value()) {
                            co_return;
                        }
                        got.push_back(*item);  // in the step that took it
                        auto lock = co_await mutex.lock();
                        co_await weir::yield();
                    }
                };
                auto producer = [&]() -> task<> {
                    for (int i = 0; i < 10; ++i) {
                        co_await queue.put(i);
                    }
                    queue.close();
                };
                auto victim = weir::spawn(consumer);
                auto other = weir::spawn(consumer);
                auto source = weir::spawn(producer);
                for (int i = 0; i < steps; ++i) {
                    co_await weir::yield();
                }
                victim.cancel();
                co_await victim.wait();
                co_await other;
                co_await source;
                EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
                EXPECT_EQ(slots.value(), 1);
                EXPECT_FALSE(mutex.locked());
            },
            5);
    }
}

// A stop that is taken back after the waiter was handed the lock: whichever way wait() ends, the
// lock is held then.
WEIR_TEST(SyncRace, StopTakenBackDuringAConditionWait) {
    weir::condition condition;
    bool was_locked = false;
    auto wait = [&]() -> task<> {
        auto lock = co_await condition.lock();
        struct at_end {
            weir::condition& condition;
            bool& was_locked;
            ~at_end() { was_locked = condition.locked(); }
        } note{condition, was_locked};
        co_await condition.wait();
    };
    auto waiter = weir::spawn(wait);
    co_await settle_all();
    {
        auto lock = co_await condition.lock();
        waiter.cancel();
    }
    waiter.uncancel();
    co_await waiter.wait();
    EXPECT_TRUE(was_locked);
    EXPECT_FALSE(condition.locked());
}

}  // namespace
