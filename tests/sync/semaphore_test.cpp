// SPDX-License-Identifier: MIT
// The semaphore under stops, destruction and explored schedules.

#include "support.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
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

}  // namespace
