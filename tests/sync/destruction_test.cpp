// SPDX-License-Identifier: MIT
// A primitive that is destroyed while fibers wait for it, or were granted it and have not run: they
// throw invalid_state, except where they need nothing of it any more. And the other ways a wait can
// end badly.

#include "support.hpp"

#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace sync_tests;

// How each of some tasks ended.
struct endings {
    int well = 0;
    int invalid = 0;
};

template <class Wait>
task<> ended(endings& count, Wait wait) {
    try {
        co_await wait();
        ++count.well;
    } catch (const weir::invalid_state&) {
        ++count.invalid;
    }
}

TEST(SyncDestroyed, Mutex) {
    expect_always(
        []() -> task<> {
            auto mutex = std::make_unique<weir::mutex>();
            endings count;
            co_await mutex->acquire();
            auto wait = [&]() -> task<> {
                auto lock = co_await mutex->lock();
                ADD_FAILURE() << "got a lock that is gone";
                lock.detach();
            };
            auto granted = weir::spawn(ended(count, wait));
            co_await settle_all();
            auto waiting = weir::spawn(ended(count, wait));
            auto cancelled = weir::spawn(ended(count, wait));
            co_await settle_all();
            cancelled.cancel();
            mutex->release();
            mutex.reset();
            co_await granted;
            co_await waiting;
            co_await cancelled.wait();
            EXPECT_TRUE(cancelled.cancelled());
            EXPECT_EQ(count.invalid, 2);
        },
        50);
}

TEST(SyncDestroyed, Semaphore) {
    expect_always(
        []() -> task<> {
            std::optional<weir::semaphore> semaphore(std::in_place, 0);
            endings count;
            auto wait = [&]() -> task<> { (void)co_await semaphore->acquire(); };
            auto granted = weir::spawn(ended(count, wait));
            co_await settle_all();
            auto waiting = weir::spawn(ended(count, wait));
            co_await settle_all();
            semaphore->release();
            semaphore.reset();
            co_await granted;
            co_await waiting;
            EXPECT_EQ(count.invalid, 2);
        },
        50);
}

TEST(SyncDestroyed, Event) {
    expect_always(
        []() -> task<> {
            std::optional<weir::event> event(std::in_place);
            endings count;
            auto wait = [&]() -> task<> { co_await event->wait(); };
            auto woken = weir::spawn(ended(count, wait));
            co_await settle_all();
            event->set();
            event->clear();
            auto waiting = weir::spawn(ended(count, wait), {.start = weir::start::eager});
            co_await weir::testing::settle_all();
            event.reset();
            co_await woken;
            co_await waiting;
            EXPECT_EQ(count.well, 1);
            EXPECT_EQ(count.invalid, 1);

            event.emplace();
            auto seen = weir::spawn(ended(count, wait));
            co_await settle_all();
            event->set();
            event.reset();  // who was woken has seen it
            co_await seen;
            EXPECT_EQ(count.well, 2);
        },
        50);
}

TEST(SyncDestroyed, Barrier) {
    expect_always(
        []() -> task<> {
            std::optional<weir::barrier> barrier(std::in_place, 2);
            endings count;
            auto wait = [&]() -> task<> { (void)co_await barrier->wait(); };
            auto released = weir::spawn(ended(count, wait));
            co_await settle_all();
            co_await barrier->wait();
            barrier.reset();
            co_await released;
            EXPECT_EQ(count.well, 1);

            barrier.emplace(2);
            auto waiting = weir::spawn(ended(count, wait));
            co_await settle_all();
            barrier.reset();
            co_await waiting;
            EXPECT_EQ(count.invalid, 1);
        },
        50);
}

TEST(SyncDestroyed, ConditionWithASharedMutex) {
    expect_always(
        []() -> task<> {
            weir::mutex mutex;
            std::optional<weir::condition> condition(std::in_place, mutex);
            endings count;
            auto wait = [&]() -> task<> {
                auto lock = co_await mutex.lock();
                co_await condition->wait();
                EXPECT_TRUE(mutex.locked());
            };
            auto notified = weir::spawn(ended(count, wait));
            co_await settle_all();
            auto waiting = weir::spawn(ended(count, wait));
            auto cancelled = weir::spawn(ended(count, wait));
            co_await settle_all();
            {
                auto lock = co_await mutex.lock();
                condition->notify();
                condition.reset();
                cancelled.cancel();
                co_await settle_all();
                EXPECT_EQ(count.well + count.invalid, 0);  // they regain the lock first
            }
            co_await notified;
            co_await waiting;
            co_await cancelled.wait();
            EXPECT_EQ(count.well, 1);
            EXPECT_EQ(count.invalid, 1);
            EXPECT_TRUE(cancelled.cancelled());
            EXPECT_FALSE(mutex.locked());
        },
        50);
}

TEST(SyncDestroyed, NotifiedWaiterStoppedAfterTheCondition) {
    expect_always(
        []() -> task<> {
            weir::mutex mutex;
            std::optional<weir::condition> condition(std::in_place, mutex);
            auto wait = [&]() -> task<> {
                auto lock = co_await mutex.lock();
                co_await condition->wait();
            };
            auto notified = weir::spawn(wait);
            co_await settle_all();
            auto lock = co_await mutex.lock();
            condition->notify();
            condition.reset();
            notified.cancel();  // has a notification to pass on, and nobody to pass it to
            lock.unlock();
            co_await notified.wait();
            EXPECT_TRUE(notified.cancelled());
            EXPECT_FALSE(mutex.locked());
        },
        50);
}

TEST(SyncDestroyed, Queue) {
    expect_always(
        []() -> task<> {
            std::optional<weir::queue<int>> queue(std::in_place, 1);
            endings count;
            auto get = [&]() -> task<> { (void)co_await queue->get(); };
            auto put = [&]() -> task<> { co_await queue->put(1); };
            auto join = [&]() -> task<> { co_await queue->join(); };
            auto granted = weir::spawn(ended(count, get));
            co_await settle_all();
            auto waiting = weir::spawn(ended(count, get));
            co_await settle_all();
            queue->put_now(1);
            auto joiner = weir::spawn(ended(count, join), {.start = weir::start::eager});
            queue.reset();
            co_await granted;
            co_await waiting;
            co_await joiner;
            EXPECT_EQ(count.invalid, 3);

            queue.emplace(1);
            queue->put_now(1);
            auto claims = weir::spawn(ended(count, put));
            co_await settle_all();
            auto waits = weir::spawn(ended(count, put));
            co_await settle_all();
            (void)queue->get_now();
            queue.reset();
            co_await claims;
            co_await waits;
            EXPECT_EQ(count.invalid, 5);
            EXPECT_EQ(count.well, 0);
        },
        50);
}

// ---- errors on the way
// -----------------------------------------------------------------------------

struct fragile {
    int value = 0;
    static inline int moves_left = 1000;
    explicit fragile(int v) : value(v) {}
    fragile(const fragile& other) : value(other.value) { move(); }
    fragile(fragile&& other) noexcept(false) : value(other.value) { move(); }
    static void move() {
        if (moves_left == 0) {
            throw std::runtime_error("broke on the way");
        }
        --moves_left;
    }
};

// A move that throws, at every move there is: the queue stays whole, and nobody loses a claim.
TEST(SyncErrors, ItemsThatThrowWhenMoved) {
    for (int breaks_at = 0; breaks_at < 12; ++breaks_at) {
        auto body = [breaks_at]() -> task<> {
            weir::queue<fragile> queue(1);
            int put = 0;
            int got = 0;
            int thrown = 0;
            auto producer = [&]() -> task<> {
                for (int i = 0; i < 4; ++i) {
                    bool is_in = false;
                    while (!is_in) {
                        try {
                            co_await queue.put(fragile(i));
                            is_in = true;
                        } catch (const std::runtime_error&) {
                            ++thrown;
                            fragile::moves_left = 1000;
                        }
                    }
                    ++put;
                }
                queue.close();
            };
            auto consumer = [&]() -> task<> {
                for (;;) {
                    try {
                        const fragile item = co_await queue.get();
                        EXPECT_EQ(item.value, got);
                        ++got;
                    } catch (const weir::queue_closed&) {
                        co_return;
                    } catch (const std::runtime_error&) {
                        ++thrown;
                        fragile::moves_left = 1000;
                    }
                }
            };
            fragile::moves_left = breaks_at;
            auto a = weir::spawn(consumer);
            auto b = weir::spawn(producer);
            co_await a;
            co_await b;
            EXPECT_EQ(put, 4);
            EXPECT_EQ(got, 4);
            EXPECT_EQ(thrown, 1);
        };
        weir::loop_options options;
        options.driver = weir::driver_kind::simulated;
        weir::run(body(), std::move(options));
    }
    fragile::moves_left = 1000;
}

WEIR_TEST(SyncErrors, APredicateThatThrowsLeavesWithTheLock) {
    weir::condition condition;
    auto lock = co_await condition.lock();
    auto broken = []() -> bool { throw std::runtime_error("predicate"); };
    WEIR_EXPECT_THROW(condition.wait(broken), std::runtime_error);
    EXPECT_TRUE(condition.locked());
    lock.unlock();
}

TEST(SyncErrors, WrongThreadIsSeenInDebugMode) {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.debug = true;
    auto body = []() -> task<> {
        weir::event event;
        weir::semaphore semaphore(0);
        auto queue = weir::queue<int>::unbounded();
        auto wait = [&]() -> task<> { co_await event.wait(); };
        auto acquire = [&]() -> task<> { (void)co_await semaphore.acquire(); };
        auto get = [&]() -> task<> { (void)co_await queue.get(); };
        auto a = weir::spawn(wait);
        auto b = weir::spawn(acquire);
        auto c = weir::spawn(get);
        co_await settle_all();
        int refused = 0;
        auto attempt = [&refused](auto action) {
            try {
                action();
            } catch (const weir::wrong_thread&) {
                ++refused;
            }
        };
        std::thread([&] {
            attempt([&] { event.set(); });
            attempt([&] { semaphore.release(); });
            attempt([&] { queue.put_now(1); });
        }).join();
        EXPECT_EQ(refused, 3);
        EXPECT_EQ(queue.size(), 0u);
        event.set();
        semaphore.release();
        queue.put_now(1);
        co_await a;
        co_await b;
        co_await c;
    };
    weir::run(body(), std::move(options));
}

}  // namespace
