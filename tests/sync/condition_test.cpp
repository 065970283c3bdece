// SPDX-License-Identifier: MIT
// The condition under stops, timeouts, destruction and explored schedules.

#include "support.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace sync_tests;

// A bounded buffer of a mutex and two conditions with notify(1): after one lost notification, a
// task would wait for ever.
TEST(Condition, NotificationsAreNotSwallowed) {
    expect_always([]() -> task<> {
        dice random;
        weir::mutex mutex;
        weir::condition not_empty(mutex);
        weir::condition not_full(mutex);
        std::deque<int> buffer;
        constexpr int total = 24;
        int produced = 0;
        std::vector<int> got;
        int holders = 0;
        auto put = [&]() -> task<> {
            auto lock = co_await mutex.lock();
            while (buffer.size() >= 2) {
                co_await not_full.wait();
                EXPECT_TRUE(mutex.locked());
                EXPECT_EQ(holders, 0);
            }
            counted inside(holders);
            EXPECT_EQ(holders, 1);
            if (random.one_in(2)) {
                co_await weir::yield();
            }
            buffer.push_back(produced++);
            not_empty.notify();
        };
        auto get = [&]() -> task<> {
            auto lock = co_await mutex.lock();
            try {
                auto has_some = [&] { return !buffer.empty(); };
                co_await weir::timeout(5ms, not_empty.wait(has_some));
            } catch (const weir::timed_out&) {
                EXPECT_TRUE(mutex.locked());
                co_return;
            }
            counted inside(holders);
            EXPECT_EQ(holders, 1);
            got.push_back(buffer.front());
            buffer.pop_front();
            not_full.notify();
        };
        std::vector<handle<void>> attempts(6);
        auto producer = [&](handle<void>& attempt, int count) -> task<> {
            for (int i = 0; i < count; ++i) {
                co_await until_done(attempt, put);
                co_await pause(random);
            }
        };
        auto consumer = [&](handle<void>& attempt) -> task<> {
            while (got.size() < total) {
                co_await until_done(attempt, get);
                co_await pause(random);
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (std::size_t i = 0; i < 3; ++i) {
                group.spawn(producer, std::ref(attempts[i]), total / 3);
                group.spawn(consumer, std::ref(attempts[3 + i]));
            }
            group.spawn(chaos(random, attempts, 60));
            co_return;
        });
        WEIR_ASSERT_EQ(got.size(), static_cast<std::size_t>(total));
        EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
        EXPECT_FALSE(mutex.locked());
    });
}

// The same without timeouts, where only a notification wakes a waiter: each item put notifies
// exactly one task, and exactly as many tasks are woken.
TEST(Condition, NotificationsReachARunningTask) {
    expect_always([]() -> task<> {
        dice random;
        weir::condition condition;
        int available = 0;
        int taken = 0;
        auto take = [&]() -> task<> {
            auto lock = co_await condition.lock();
            while (available == 0) {
                co_await condition.wait();
            }
            --available;
            ++taken;
        };
        std::vector<handle<void>> attempts(5);
        auto taker = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 5; ++i) {
                co_await until_done(attempt, take);
            }
        };
        auto giver = [&]() -> task<> {
            for (int i = 0; i < 25; ++i) {
                co_await pause(random);
                auto lock = co_await condition.lock();
                ++available;
                condition.notify();
                co_await pause(random);
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(taker, std::ref(each));
            }
            group.spawn(giver);
            group.spawn(chaos(random, attempts, 60));
            co_return;
        });
        EXPECT_EQ(taken, 25);
        EXPECT_EQ(available, 0);
        EXPECT_FALSE(condition.locked());
    });
}

TEST(Condition, MayBeDestroyedWithWaiters) {
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

// No fiber holds the mutex, so none will hand it on: the destructor must.
TEST(Condition, MayBeDestroyedWithWaitersWhileTheMutexIsFree) {
    expect_always(
        []() -> task<> {
            weir::mutex mutex;
            std::optional<weir::condition> condition(std::in_place, mutex);
            endings count;
            int holders = 0;
            auto wait = [&]() -> task<> {
                auto lock = co_await mutex.lock();
                const weir::outcome<> waited = co_await weir::settle(condition->wait());
                EXPECT_TRUE(mutex.locked());
                counted inside(holders);
                EXPECT_EQ(holders, 1);
                co_await weir::yield();
                EXPECT_EQ(holders, 1);
                (void)waited.value();
            };
            auto first = weir::spawn(ended(count, wait));
            auto second = weir::spawn(ended(count, wait));
            co_await settle_all();
            EXPECT_FALSE(mutex.locked());
            condition.reset();
            co_await settle_all();
            EXPECT_TRUE(first.done() && second.done());
            EXPECT_EQ(count.invalid, 2);
            EXPECT_FALSE(mutex.locked());
        },
        50);
}

TEST(Condition, ANotifiedWaiterMayBeStoppedWhenTheConditionIsGone) {
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
            notified.cancel();  // has a notification to pass on, and no other waiter
            lock.unlock();
            co_await notified.wait();
            EXPECT_TRUE(notified.cancelled());
            EXPECT_FALSE(mutex.locked());
        },
        50);
}

WEIR_TEST(Condition, APredicateThatThrowsLeavesWithTheLock) {
    weir::condition condition;
    auto lock = co_await condition.lock();
    auto broken = []() -> bool { throw std::runtime_error("predicate"); };
    WEIR_EXPECT_THROW(condition.wait(broken), std::runtime_error);
    EXPECT_TRUE(condition.locked());
    lock.unlock();
}

TEST(Condition, LosesNoNotificationToACancel) {
    expect_always([]() -> task<> {
        dice random;
        weir::condition condition;
        int available = 0;
        crowd waiters;
        auto take = [&]() -> task<> {
            auto lock = co_await condition.lock();
            while (available == 0) {
                co_await condition.wait();
                EXPECT_TRUE(condition.locked());
            }
            --available;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(take()); });
            co_await settle_all();
            {
                auto lock = co_await condition.lock();
                const int count = random.below(4);
                available += count;
                condition.notify(static_cast<std::size_t>(count));
                waiters.cancel_some(random);  // while they compete for the lock
                if (random.one_in(2)) {
                    co_await settle_all();
                    waiters.cancel_some(random);
                }
            }
            waiters.cancel_some(random);  // one of them has been handed the lock
            co_await settle_all();
            EXPECT_FALSE(condition.locked());
            EXPECT_TRUE(available == 0 || waiters.waiting() == 0)
                << available << " available, " << waiters.waiting() << " wait";
        }
        co_await waiters.end();
    });
}

// Notified at the moment of the timeout: either result is correct, and the lock is held in both
// cases.
TEST(Condition, LosesNoNotificationToATimeout) {
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

// A stop that is taken back after the waiter was handed the lock: whichever way wait() ends, the
// lock is held then.
WEIR_TEST(Condition, AStopMayBeTakenBackDuringAWait) {
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
