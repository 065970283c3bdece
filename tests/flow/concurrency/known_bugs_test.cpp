// SPDX-License-Identifier: MIT
// Bugs that semaphores, bulkheads and queues of other libraries had, each with the number of its
// report.

#include "support.hpp"

#include <weir/sync/queue.hpp>
#include <weir/sync/semaphore.hpp>

namespace flow_bulkhead {
namespace {

// For either order of a grant and a timeout at the same moment, the place is not lost.
TEST(KnownBugs, failsafe_393_a_place_granted_to_a_timed_out_waiter_is_not_lost) {
    expect_always([]() -> task<> {
        bulkhead tried({.max_concurrent = 1, .max_wait = 10ms});
        auto holder = [&]() -> task<> {
            auto held = co_await tried.acquire();
            co_await weir::sleep(10ms);  // gives back as the others time out
        };
        auto by_timeout = [&]() -> task<> {
            try {
                auto held = co_await weir::timeout(10ms, tried.acquire());
            } catch (const weir::timed_out&) {
            } catch (const weir::refused&) {
            }
        };
        auto by_max_wait = [&]() -> task<> {
            auto in = co_await tried.admit();
            if (in) {
                co_await weir::yield();
            }
        };
        std::vector<handle<>> all;
        all.push_back(weir::spawn(holder));
        all.push_back(weir::spawn(by_timeout));
        all.push_back(weir::spawn(by_max_wait));
        all.push_back(weir::spawn(by_timeout));
        for (auto& each : all) {
            co_await each;
        }
        EXPECT_EQ(tried.stats().in_use, 0u);
        EXPECT_EQ(tried.stats().waiting, 0u);
        EXPECT_TRUE(tried.try_acquire());
    });
}

TEST(KnownBugs, resilience4j_332_a_cancelled_call_gives_its_place_back) {
    expect_always([]() -> task<> {
        dice random;
        bulkhead tried({.max_concurrent = 2});
        for (int round = 0; round < 5; ++round) {
            std::vector<handle<>> calls;
            for (int i = 0; i < 5; ++i) {
                calls.push_back(weir::spawn(tried.run([] { return weir::sleep(5ms); })));
            }
            co_await weir::sleep(random.milliseconds_below(8));
            for (auto& each : calls) {
                each.cancel();
            }
            for (auto& each : calls) {
                co_await each.wait();
            }
            EXPECT_EQ(tried.stats().in_use, 0u);
            EXPECT_EQ(tried.stats().waiting, 0u);
        }
    });
}

// A waiter that was woken and is cancelled before it runs hands the wake-up on.
TEST(KnownBugs, cpython_90155_no_wake_up_is_lost_when_a_woken_waiter_is_cancelled) {
    expect_always([]() -> task<> {
        bulkhead tried({.max_concurrent = 1});
        weir::semaphore slots(1);
        auto held = tried.try_acquire();
        auto taken = slots.try_acquire();
        auto ask = [&]() -> task<> {
            auto permit = co_await tried.acquire();
            auto slot = co_await slots.acquire();
        };
        const auto first = weir::spawn(ask);
        const auto second = weir::spawn(ask);
        co_await settle_all();
        held.pass().release();
        taken.reset();
        first.cancel();  // granted already, or not: the second must get it
        co_await second;
        co_await first.wait();
        EXPECT_EQ(tried.stats().in_use, 0u);
        EXPECT_EQ(slots.value(), 1);
    });
}

WEIR_TEST(KnownBugs, golang_37852_a_cancelled_front_waiter_lets_followers_that_fit_go) {
    bulkhead tried({.max_concurrent = 3});
    auto held = tried.try_acquire(2);
    std::string order;
    const auto large = weir::spawn(hold(tried, order, 'L', 1s, 3));
    co_await settle_all();
    const auto small = weir::spawn(hold(tried, order, 's', 1s, 1));
    co_await settle_all();
    EXPECT_EQ(order, "");
    large.cancel();
    co_await settle_all();
    EXPECT_EQ(order, "s");  // though nothing was given back
    co_await small;
    co_await large.wait();
    EXPECT_EQ(tried.stats().in_use, 2u);
}

// The same when the front waiter runs out of time.
WEIR_TEST(KnownBugs, golang_37852_a_timed_out_front_waiter_lets_followers_that_fit_go) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 3, .max_wait = 5s});
    auto held = tried.try_acquire(2);
    std::string order;
    const auto large = weir::spawn(hold(tried, order, 'L', 1s, 3));
    co_await advance(2s);
    const auto small = weir::spawn(hold(tried, order, 's', 1s, 1));
    co_await advance(3s);
    EXPECT_EQ(order, "s");
    WEIR_EXPECT_THROW(large, weir::refused);
    co_await small;
}

// A timeout that races a dequeue: the item is either got or still there.
TEST(KnownBugs, asyncio_201_a_timeout_racing_a_dequeue_does_not_lose_the_item) {
    expect_always([]() -> task<> {
        weir::queue<int> items(4);
        int got = 0;
        auto consumer = [&]() -> task<> {
            try {
                co_await weir::timeout(3ms, items.get());
                ++got;
            } catch (const weir::timed_out&) {
            }
        };
        auto producer = [&]() -> task<> {
            co_await weir::sleep(3ms);
            co_await items.put(1);
        };
        const auto first = weir::spawn(consumer);
        const auto second = weir::spawn(producer);
        co_await first;
        co_await second;
        EXPECT_EQ(got + static_cast<int>(items.size()), 1);
    });
}

WEIR_TEST(KnownBugs, tower_71_cancelled_waiters_hold_no_capacity) {
    bulkhead tried({.max_concurrent = 1, .max_waiting = 2});
    auto held = tried.try_acquire();
    std::string order;
    for (int i = 0; i < 10; ++i) {
        const auto first = weir::spawn(hold(tried, order, 'x', 1s));
        const auto second = weir::spawn(hold(tried, order, 'x', 1s));
        co_await settle_all();
        EXPECT_EQ(tried.stats().waiting, 2u);  // none of the earlier ones is in the way
        first.cancel();
        second.cancel();
        co_await first.wait();
        co_await second.wait();
    }
    EXPECT_EQ(tried.stats().refused, 0u);
    held.pass().release();
    EXPECT_TRUE(tried.try_acquire());
}

}  // namespace
}  // namespace flow_bulkhead
