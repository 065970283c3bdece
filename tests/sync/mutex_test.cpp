// SPDX-License-Identifier: MIT
// The mutex under stops, timeouts, destruction and explored schedules.

#include "support.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace sync_tests;

TEST(Mutex, HasOneHolderAndIsFreeAtTheEnd) {
    expect_always([]() -> task<> {
        dice random;
        weir::mutex mutex;
        int holders = 0;
        auto critical = [&]() -> task<> {
            counted inside(holders);
            EXPECT_EQ(holders, 1);
            EXPECT_TRUE(mutex.locked());
            co_await pause(random);
            EXPECT_EQ(holders, 1);
        };
        auto use = [&]() -> task<> {
            switch (random.below(4)) {
                case 0: {
                    auto lock = co_await mutex.lock();
                    co_await critical();
                    lock.unlock();
                    co_await pause(random);
                    break;
                }
                case 1: {
                    try {
                        auto lock =
                            co_await weir::timeout(random.milliseconds_below(4), mutex.lock());
                        co_await critical();
                    } catch (const weir::timed_out&) {
                    }
                    break;
                }
                case 2: {
                    if (auto lock = mutex.try_lock()) {
                        co_await critical();
                    }
                    break;
                }
                default: {
                    co_await mutex.acquire();
                    weir::mutex::guard adopted(mutex);
                    co_await critical();
                }
            }
        };
        std::vector<handle<void>> attempts(6);
        auto user = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 6; ++i) {
                co_await until_done(attempt, use);
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(user, std::ref(each));
            }
            group.spawn(chaos(random, attempts, 40));
            co_return;
        });
        EXPECT_EQ(holders, 0);
        EXPECT_FALSE(mutex.locked());
    });
}

// Without shuffling, so that the order of asking is known.
TEST(Mutex, IsFair) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        auto body = [seed]() -> task<> {
            std::mt19937 random(seed);
            weir::mutex mutex;
            std::deque<int> line;  // the waiting tasks, by ticket
            int last_ticket = 0;
            auto use = [&]() -> task<> {
                const int ticket = ++last_ticket;
                line.push_back(ticket);
                struct leave {
                    std::deque<int>& line;
                    int ticket;
                    ~leave() { std::erase(line, ticket); }
                } at_end{line, ticket};
                auto lock = co_await mutex.lock();
                EXPECT_EQ(line.front(), ticket) << "seed " << seed;
                std::erase(line, ticket);
                co_await weir::sleep(std::chrono::milliseconds(random() % 3));
            };
            std::vector<handle<void>> users;
            for (int i = 0; i < 40; ++i) {
                users.push_back(weir::spawn(use()));
                co_await weir::sleep(std::chrono::milliseconds(random() % 2));
                if (random() % 2 == 0) {
                    users[random() % users.size()].cancel();
                }
            }
            for (auto& each : users) {
                co_await each.wait();
            }
            EXPECT_FALSE(mutex.locked());
        };
        weir::loop_options options;
        options.driver = weir::driver_kind::simulated;
        weir::run(body(), std::move(options));
    }
}

TEST(Mutex, MayBeDestroyedWithWaiters) {
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

TEST(Mutex, IsNotFreeWhileATaskWaits) {
    expect_always([]() -> task<> {
        dice random;
        weir::mutex mutex;
        bool held = false;
        crowd waiters;
        auto acquire = [&]() -> task<> {
            co_await mutex.acquire();
            EXPECT_FALSE(held);
            held = true;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(6)),
                           [&] { return weir::spawn(acquire()); });
            co_await settle_all();
            if (held) {
                held = false;
                mutex.release();
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_EQ(mutex.locked(), held);
            EXPECT_TRUE(held || waiters.waiting() == 0);
        }
        co_await waiters.end();
    });
}

// The lock is released at the very moment at which the waiter's time is up.
TEST(Mutex, LosesNoLockToATimeout) {
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

// Between a release and the resumption of the next fiber no fiber holds the lock, so nobody can
// give it back: a second release would let two in.
WEIR_TEST(Mutex, CannotBeReleasedWhileItIsHandedOver) {
    weir::mutex mutex;
    int holders = 0;
    auto use = [&]() -> task<> {
        auto lock = co_await mutex.lock();
        counted inside(holders);
        EXPECT_EQ(holders, 1);
        co_await weir::sleep(1ms);
    };
    co_await mutex.acquire();
    auto first = weir::spawn(use);
    auto second = weir::spawn(use);
    co_await settle_all();
    mutex.release();
    EXPECT_TRUE(mutex.locked());
    EXPECT_THROW(mutex.release(), weir::invalid_state);
    co_await first;
    co_await second;
    EXPECT_FALSE(mutex.locked());
}

}  // namespace
