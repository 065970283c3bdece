// SPDX-License-Identifier: MIT
// The end of a pool: drained, closed, destroyed, or outlived by its leases.

#include "support.hpp"

#include <weir/run.hpp>

namespace {

using namespace pool_tests;
using weir::refusal_reason;

WEIR_TEST(PoolEnd, DrainServesWhoWaitsAndRefusesNewcomers) {
    server at;
    weir::pool<connection> pool({.max = 1}, at.functions());
    int served = 0;
    auto user = [&]() -> task<> {
        auto lent = co_await pool.acquire();
        ++served;
        co_await weir::sleep(10s);
    };
    auto first = weir::spawn(user);
    auto second = weir::spawn(user);
    co_await settle_all();
    auto draining = weir::spawn(pool.drain());
    co_await settle_all();
    auto late = co_await pool.admit();
    WEIR_ASSERT_FALSE(late);
    EXPECT_EQ(late.refusal().reason, refusal_reason::shut_down);
    EXPECT_FALSE(draining.done());
    const auto begin = weir::now();
    co_await draining;
    EXPECT_EQ(weir::now() - begin, 20s);
    EXPECT_EQ(served, 2);
    EXPECT_EQ(at.open, 0);
    EXPECT_EQ(at.closes, at.connects);
    co_await first;
    co_await second;
    co_await pool.drain();  // again: nothing to do
    co_await pool.close();
}

WEIR_TEST(PoolEnd, DrainEndsASuspension) {
    server at;
    weir::pool<connection> pool({.max = 1}, at.functions());
    pool.suspend();
    auto waiter = weir::spawn([&]() -> task<> { (co_await pool.acquire()).release(); });
    co_await settle_all();
    co_await pool.drain();
    co_await waiter;
    EXPECT_EQ(at.closes, 1);
}

WEIR_TEST(PoolEnd, CloseRefusesWhoWaitsAndHasALimit) {
    weir::testing::expect_report(weir::report_kind::long_lease, "pool_shutdown_test.cpp");
    server at;
    at.connect_time = 1min;
    weir::pool<connection> pool({.max = 2, .max_wait = 5min, .connect_timeout = 2min},
                                at.functions());
    auto held = co_await pool.acquire();
    std::string message;
    auto waiter = weir::spawn([&]() -> task<> {
        try {
            auto never = co_await pool.acquire();
        } catch (const weir::refused& refused) {
            message = refused.what();
        }
    });
    co_await settle_all();
    EXPECT_EQ(pool.stats().connecting, 1u);
    const auto begin = weir::now();
    co_await pool.close(5s);
    EXPECT_EQ(weir::now() - begin, 5s);
    EXPECT_EQ(message, "pool: shut down");
    EXPECT_EQ(at.open, 1);
    EXPECT_EQ(pool.stats().lent, 1u);
    held.release();
    co_await settle_all();
    EXPECT_EQ(at.open, 0);
    EXPECT_EQ(at.closes, 1);
    co_await waiter;
}

WEIR_TEST(PoolEnd, CloseThatIsStoppedCanBeFinished) {
    server at;
    weir::pool<connection> pool({.max = 2}, at.functions());
    auto held = co_await pool.acquire();
    WEIR_EXPECT_TIMEOUT(weir::timeout(1s, pool.close(1h)));
    EXPECT_FALSE(pool.try_acquire());
    held.release();
    EXPECT_EQ(pool.stats().idle, 1u);
    co_await pool.close();
    EXPECT_EQ(at.open, 0);
}

WEIR_TEST(PoolEnd, HangingCloseIsCutOff) {
    server at;
    auto functions = only_connect(at);
    functions.close = [](connection&) -> task<> { co_await weir::sleep_forever(); };
    weir::pool<connection> pool({.max = 1, .close_timeout = 3s}, std::move(functions));
    (co_await pool.acquire()).release();
    const auto begin = weir::now();
    co_await pool.close();
    EXPECT_EQ(weir::now() - begin, 3s);
    EXPECT_EQ(at.open, 0);
}

WEIR_TEST(PoolEnd, LeasesOutliveThePool) {
    server at;
    weir::lease<connection> kept;
    weir::lease<connection> detached;
    {
        weir::pool<connection> pool({.max = 3, .leak_after = 1s}, at.functions());
        kept = co_await pool.acquire();
        detached = co_await pool.acquire();
        (co_await pool.acquire()).release();
    }
    EXPECT_EQ(at.open,
              2);  // the idle one is gone, without close(): what that refers to may be gone
    EXPECT_EQ(at.closes, 0);
    EXPECT_EQ(kept->id, 1);
    co_await weir::sleep(1min);
    connection own = detached.detach();
    kept.release();
    EXPECT_EQ(at.open, 1);
    EXPECT_EQ(own.id, 2);
}

// Destroyed at any moment: waiters are refused, or have their lease; nothing is left.
TEST(PoolEnd, DestroyedWhileEverythingIsGoingOn) {
    expect_always(
        []() -> task<> {
            server at;
            dice random;
            at.random = &random;
            auto functions = at.functions();
            functions.reset = [&](connection&) -> task<> { co_await random.pause(); };
            auto pool = std::make_unique<weir::pool<connection>>(
                weir::pool_options{.max = 3, .min_idle = 1, .max_wait = 4ms, .keep_alive = 1ms},
                std::move(functions));
            auto user = [&]() -> task<> {
                if (pool == nullptr) {
                    co_return;
                }
                auto lent = co_await pool->acquire();
                const use used(*lent);
                co_await random.pause();
            };
            std::vector<handle<>> users;
            const int count = 2 + random.below(8);
            for (int i = 0; i < count; ++i) {
                users.push_back(weir::spawn(user));
            }
            auto drainer = weir::spawn([&]() -> task<> {
                if (random.one_in(2)) {
                    co_await weir::sleep(1ms);
                }
                if (pool != nullptr) {
                    co_await pool->drain();
                }
            });
            for (int i = random.below(6); i > 0; --i) {
                co_await random.pause();
            }
            for (auto& each : users) {
                if (random.one_in(3)) {
                    each.cancel();
                }
            }
            pool.reset();
            for (auto& each : users) {
                co_await each.wait();
                if (each.failed()) {
                    (void)each.error();
                }
            }
            co_await drainer;
            co_await settle_all();
            co_await weir::sleep(1s);
            EXPECT_EQ(at.open, 0);
            EXPECT_EQ(at.violations, std::vector<std::string>());
        },
        1000);
}

// A pool that outlives its loop: what is idle is closed when the loop ends.
TEST(PoolEnd, LoopEndsFirst) {
    server at;
    weir::pool<connection> pool({.max = 2, .idle_timeout = 1h}, at.functions());
    EXPECT_FALSE(pool.try_acquire());
    auto body = [&]() -> task<> { (co_await pool.acquire()).release(); };
    weir::run(body(), weir::loop_options{.driver = weir::driver_kind::simulated});
    EXPECT_EQ(at.open, 0);
    EXPECT_EQ(at.closes, 1);
    EXPECT_FALSE(pool.try_acquire());
    auto again = [&]() -> task<> {
        auto refused = co_await pool.admit();
        EXPECT_FALSE(refused);
    };
    weir::run(again(), weir::loop_options{.driver = weir::driver_kind::simulated});
}

// A lease that is given back when no loop runs.
TEST(PoolEnd, LeaseOutlivesTheLoop) {
    server at;
    weir::pool<connection> pool({.max = 2}, at.functions());
    weir::lease<connection> kept;
    auto body = [&]() -> task<> { kept = co_await pool.acquire(); };
    weir::run(body(), weir::loop_options{.driver = weir::driver_kind::simulated});
    EXPECT_EQ(kept->id, 1);
    kept.release();
    EXPECT_EQ(at.open, 0);
}

WEIR_TEST(PoolEnd, StoppedConnectIsSeenAsACancellation) {
    server at;
    at.connect_time = 1s;
    weir::pool<connection> pool({.max = 1}, only_connect(at));
    auto waiter = weir::spawn([&]() -> task<> { (co_await pool.acquire()).release(); });
    co_await settle_all();
    for (const auto& each : weir::all_tasks()) {
        if (!(each == weir::current_task()) && !(each == waiter)) {
            each.cancel();  // the test stops the pool's own task
        }
    }
    WEIR_EXPECT_CANCELLED(waiter);
    WEIR_EXPECT_NO_THROW(pool.acquire());
    co_await pool.close();
}

// drain() waits for the tasks in line; the last of them may leave it while no connect is due.
WEIR_TEST(PoolEnd, DrainNoticesThatTheLastWaiterHasLeft) {
    server at;
    at.is_down = true;
    weir::pool<connection> pool({.max = 2,
                                 .max_wait = weir::pool_options::forever,
                                 .connect_backoff = 1h,
                                 .max_connect_backoff = 1h},
                                at.functions());
    WEIR_EXPECT_THROW(pool.acquire(), connect_error);
    std::vector<handle<>> waiters;
    for (int i = 0; i < 2; ++i) {
        waiters.push_back(weir::spawn([&]() -> task<> { auto never = co_await pool.acquire(); }));
    }
    co_await settle_all();
    EXPECT_EQ(pool.stats().waiting, 2u);
    auto draining = weir::spawn(pool.drain());
    co_await settle_all();
    waiters[0].cancel();
    co_await settle_all();
    EXPECT_FALSE(draining.done());
    waiters[1].cancel();
    co_await settle_all();
    EXPECT_TRUE(draining.done());
    draining.cancel();
    co_await draining.wait();
    EXPECT_EQ(pool.stats().connecting, 0u);
}

}  // namespace
