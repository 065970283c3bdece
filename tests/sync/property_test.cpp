// SPDX-License-Identifier: MIT
// Locks, permits, notifications and barriers under random use, cancellation and timeouts: nothing
// is lost, nothing is given twice, and all comes to an end (a lost wake-up is a deadlock, which
// simulated time detects).

#include "support.hpp"

#include <deque>

namespace {

using namespace sync_tests;

TEST(SyncProperty, MutexHasOneHolderAndIsFreeAtTheEnd) {
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
TEST(SyncProperty, MutexIsFair) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        auto body = [seed]() -> task<> {
            std::mt19937 random(seed);
            weir::mutex mutex;
            std::deque<int> line;  // who waits, by ticket
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

TEST(SyncProperty, PermitsAreConserved) {
    expect_always([]() -> task<> {
        dice random;
        const int permits = 1 + random.below(3);
        weir::bounded_semaphore semaphore(permits);
        int holders = 0;
        auto use = [&]() -> task<> {
            if (random.one_in(3)) {
                try {
                    auto permit =
                        co_await weir::timeout(random.milliseconds_below(4), semaphore.acquire());
                    counted inside(holders);
                    EXPECT_LE(holders, permits);
                    co_await pause(random);
                } catch (const weir::timed_out&) {
                }
            } else {
                auto permit = co_await semaphore.acquire();
                counted inside(holders);
                EXPECT_LE(holders, permits);
                co_await pause(random);
            }
        };
        std::vector<handle<void>> attempts(8);
        auto user = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 6; ++i) {
                co_await until_done(attempt, use);
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(user, std::ref(each));
            }
            group.spawn(chaos(random, attempts, 50));
            co_return;
        });
        EXPECT_EQ(holders, 0);
        EXPECT_EQ(semaphore.value(), permits);
    });
}

// A bounded buffer of a mutex and two conditions with notify(1): one swallowed notification, and
// somebody waits for ever.
TEST(SyncProperty, NotificationsAreNotSwallowed) {
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

// The same without timeouts, where nothing but a notification wakes a waiter: each item put
// notifies exactly one, and exactly as many come.
TEST(SyncProperty, NotificationsReachSomebodyWhoRuns) {
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

TEST(SyncProperty, BarrierComesToAnEndWhoeverIsCancelled) {
    expect_always([]() -> task<> {
        dice random;
        const int parties = 1 + random.below(4);
        weir::barrier barrier(parties);
        std::vector<int> places(static_cast<std::size_t>(parties));
        bool is_over = false;
        auto pass = [&]() -> task<> {
            const std::size_t place = co_await barrier.wait();
            WEIR_ASSERT_LT(place, places.size());
            ++places[place];
            co_await pause(random);
        };
        // More than the parties, so that some come while a round is draining.
        std::vector<handle<void>> attempts(static_cast<std::size_t>(parties) + 2);
        auto party = [&](handle<void>& attempt) -> task<> {
            while (!is_over) {
                co_await until_done(attempt, pass);
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(party, std::ref(each));
            }
            co_await chaos(random, attempts, 50);
            const int before = places[0];
            while (places[0] < before + 3) {  // it still turns
                co_await weir::sleep(1ms);
            }
            is_over = true;
            group.cancel();
        });
        for (auto& each : attempts) {
            each.cancel();
            co_await each.wait();
        }
        EXPECT_EQ(barrier.waiting(), 0u);
        EXPECT_FALSE(barrier.broken());
    });
}

TEST(SyncProperty, EventWakesAllWhoWait) {
    expect_always([]() -> task<> {
        dice random;
        weir::event event;
        int passed = 0;
        auto pass = [&]() -> task<> {
            if (random.one_in(3)) {
                try {
                    co_await weir::timeout(random.milliseconds_below(3), event.wait());
                } catch (const weir::timed_out&) {
                }
            } else {
                co_await event.wait();
            }
            ++passed;
        };
        std::vector<handle<void>> attempts(6);
        auto waiter = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 5; ++i) {
                co_await until_done(attempt, pass);
                co_await pause(random);
            }
        };
        bool is_over = false;
        auto setter = [&]() -> task<> {
            while (!is_over) {
                event.set();
                if (random.one_in(2)) {
                    co_await weir::yield();
                }
                event.clear();
                co_await weir::sleep(1ms);
            }
        };
        auto setting = weir::spawn(setter);
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(waiter, std::ref(each));
            }
            group.spawn(chaos(random, attempts, 30));
            co_return;
        });
        is_over = true;
        co_await setting;
        EXPECT_EQ(passed, 30);
    });
}

}  // namespace
