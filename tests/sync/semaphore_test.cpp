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
            auto permit = co_await semaphore.acquire(below(3) == 0 ? 2 : 1);
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
    semaphore.release(2);  // for a request of two
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

// ---- several at once ----------------------------------------------------------------------------

WEIR_TEST(Semaphore, AcquiresSeveralAtOnce) {
    weir::bounded_semaphore semaphore(5);
    auto three = co_await semaphore.acquire(3);
    EXPECT_EQ(three.count(), 3);
    EXPECT_EQ(semaphore.value(), 2);
    EXPECT_FALSE(semaphore.try_acquire(3).has_value());
    auto two = semaphore.try_acquire(2);
    WEIR_ASSERT_TRUE(two.has_value());
    two->release();
    EXPECT_EQ(two->count(), 0);
    weir::semaphore::permits moved = std::move(three);
    EXPECT_EQ(moved.count(), 3);
    moved.detach();
    EXPECT_EQ(semaphore.value(), 2);
    semaphore.release(3);
    EXPECT_EQ(semaphore.value(), 5);
    for (const std::ptrdiff_t wrong : {0, -1, 6}) {
        EXPECT_THROW((void)semaphore.acquire(wrong), weir::invalid_argument);
        EXPECT_THROW((void)semaphore.try_acquire(wrong), weir::invalid_argument);
    }
}

// Small requests that keep coming do not starve a large one.
WEIR_TEST(Semaphore, ALargeRequestIsNotStarved) {
    weir::testing::in_ordinary_order();
    weir::bounded_semaphore semaphore(4);
    bool large_is_served = false;
    int overtaken = 0;
    auto small = [&]() -> task<> {
        for (int i = 0; i < 50; ++i) {
            auto permit = co_await semaphore.acquire();
            overtaken += static_cast<int>(!large_is_served);
            co_await weir::sleep(1ms);
        }
    };
    auto large = [&]() -> task<> {
        auto all = co_await semaphore.acquire(4);
        large_is_served = true;
    };
    std::vector<handle<void>> users;
    for (int i = 0; i < 4; ++i) {
        users.push_back(weir::spawn(small));
    }
    co_await weir::sleep(500us);
    overtaken = 0;
    users.push_back(weir::spawn(large));
    for (auto& each : users) {
        co_await each;
    }
    EXPECT_EQ(overtaken, 0);
    EXPECT_EQ(semaphore.value(), 4);
}

// The first in line wants more than is free; when it leaves, those behind it get what is free.
WEIR_TEST(Semaphore, AStoppedLargeRequestLetsTheOthersPass) {
    weir::semaphore semaphore(0);
    int got = 0;
    auto acquire = [&](std::ptrdiff_t count) -> task<> {
        auto permit = co_await semaphore.acquire(count);
        permit.detach();
        got += static_cast<int>(count);
    };
    auto large = weir::spawn(acquire, 5);
    co_await settle_all();
    auto small = weir::spawn(acquire, 1);
    auto two = weir::spawn(acquire, 2);
    co_await settle_all();
    semaphore.release(3);
    co_await settle_all();
    EXPECT_EQ(got, 0);
    EXPECT_EQ(semaphore.value(), 3);
    EXPECT_TRUE(semaphore.locked());
    large.cancel();
    co_await settle_all();
    EXPECT_EQ(got, 3);
    EXPECT_EQ(semaphore.value(), 0);
    co_await small;
    co_await two;
}

// Random requests and cancels: permits are conserved, and the first in line never waits for what is
// free.
TEST(Semaphore, PermitsOfSeveralAreConservedAndNoneWaitsInVain) {
    expect_always([]() -> task<> {
        dice random;
        const int permits = 2 + random.below(5);
        weir::bounded_semaphore semaphore(permits);
        std::ptrdiff_t held = 0;
        std::deque<std::pair<int, std::ptrdiff_t>> line;  // number and size, in order of asking
        int asked = 0;
        auto use = [&]() -> task<> {
            const std::ptrdiff_t count = 1 + random.below(permits);
            const int number = asked++;
            line.emplace_back(number, count);
            struct leaving {
                std::deque<std::pair<int, std::ptrdiff_t>>& line;
                int number;
                ~leaving() {
                    std::erase_if(line, [this](auto& each) { return each.first == number; });
                }
            };
            std::optional<leaving> left(std::in_place, line, number);
            auto permit = co_await semaphore.acquire(count);
            left.reset();
            held += count;
            struct returning {
                std::ptrdiff_t& held;
                std::ptrdiff_t count;
                ~returning() { held -= count; }
            } back{held, count};
            EXPECT_LE(held, permits);
            co_await pause(random);
        };
        std::vector<handle<void>> attempts(6);
        auto user = [&](handle<void>& attempt) -> task<> {
            for (int i = 0; i < 5; ++i) {
                co_await until_done(attempt, use);
            }
        };
        auto observer = [&]() -> task<> {
            co_await weir::sleep(500us);  // between the times at which the others act
            for (int i = 0; i < 10; ++i) {
                co_await weir::sleep(1ms);
                EXPECT_EQ(semaphore.value(), permits - held);
                // Which of them is first in line, a schedule with forced yields decides.
                EXPECT_TRUE(line.empty() ||
                            std::any_of(line.begin(), line.end(), [&](const auto& each) {
                                return each.second > semaphore.value();
                            }));
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (auto& each : attempts) {
                group.spawn(user, std::ref(each));
            }
            group.spawn(chaos(random, attempts, 40));
            group.spawn(observer);
            co_return;
        });
        EXPECT_EQ(held, 0);
        EXPECT_EQ(semaphore.value(), permits);
        EXPECT_FALSE(semaphore.locked());
    });
}

}  // namespace
