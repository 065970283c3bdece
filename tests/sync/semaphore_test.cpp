// SPDX-License-Identifier: MIT
// The semaphore under stops, destruction and explored schedules.

#include "support.hpp"
#include "support/fifo_test.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>

namespace {

using namespace sync_tests;

TEST(Semaphore, PermitsAreConserved) {
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

TEST(Semaphore, MayBeDestroyedWithWaiters) {
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

TEST(Semaphore, HasNoPermitFreeWhileATaskWaits) {
    expect_always([]() -> task<> {
        dice random;
        weir::semaphore semaphore(0);
        int released = 0;
        int got = 0;
        crowd waiters;
        auto acquire = [&]() -> task<> {
            auto permit = co_await semaphore.acquire();
            permit.detach();
            ++got;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(acquire()); });
            co_await settle_all();
            for (int round = 0; round < 2; ++round) {
                const int count = random.below(4);
                semaphore.release(count);
                released += count;
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_EQ(semaphore.value() + got, released);
            EXPECT_TRUE(semaphore.value() == 0 || waiters.waiting() == 0);
        }
        co_await waiters.end();
    });
}

// Newcomers never overtake: tasks resume in the order in which they asked, also with permits left
// over, and whichever of them are stopped.
task<> expect_order(unsigned seed) {
    std::mt19937 random(seed);
    auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
    weir::semaphore semaphore(1 + below(2));
    int asked = 0;
    int last = -1;
    auto use = [&]() -> task<> {
        for (int round = 0; round < 4; ++round) {
            const int number = asked++;  // asks without a suspension in between
            auto permit = co_await semaphore.acquire();
            EXPECT_GT(number, last) << "seed " << seed;
            last = number;
            if (below(2) == 0) {
                co_await weir::sleep(std::chrono::milliseconds(below(3)));
            }
            permit.release();
        }
    };
    std::vector<handle<void>> users;
    for (int i = 0; i < 6; ++i) {
        users.push_back(weir::spawn(use));
    }
    for (int i = 0; i < 10; ++i) {
        co_await weir::sleep(std::chrono::milliseconds(below(2)));
        semaphore.release(below(3));
        if (below(2) == 0) {
            users[static_cast<std::size_t>(below(6))].cancel();
        }
    }
    for (auto& each : users) {
        co_await each.wait();
        EXPECT_FALSE(each.failed());
    }
    EXPECT_FALSE(semaphore.locked());
}

TEST(Semaphore, NobodyOvertakes) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        run_first_in_first_out(expect_order(seed));
    }
}

// A woken waiter that is stopped leaves its permit and the surplus to those behind it.
WEIR_TEST(Semaphore, AStoppedHeadGrantsTheSurplus) {
    weir::semaphore semaphore(0);
    int got = 0;
    auto acquire = [&]() -> task<> {
        auto permit = co_await semaphore.acquire();
        permit.detach();
        ++got;
    };
    auto head = weir::spawn(acquire);
    co_await settle_all();
    semaphore.release(2);
    const weir::spawn_options eager{.start = weir::start::eager};
    auto second = weir::spawn(acquire(), eager);
    auto third = weir::spawn(acquire(), eager);
    auto fourth = weir::spawn(acquire(), eager);
    head.cancel();
    co_await settle_all();
    EXPECT_TRUE(head.cancelled());
    EXPECT_EQ(got, 2);
    EXPECT_EQ(semaphore.value(), 0);
    semaphore.release();
    co_await fourth;
    co_await second;
    co_await third;
}

}  // namespace
