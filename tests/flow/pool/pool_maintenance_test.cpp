// SPDX-License-Identifier: MIT
// What a pool does on its own as time goes by.

#include "support.hpp"

namespace {

using namespace pool_tests;

WEIR_TEST(PoolMaintenance, MinIdleIsMadeAheadAndFilledUp) {
    server at;
    at.connect_time = 1s;
    weir::pool<connection> pool({.max = 4, .min_idle = 2}, only_connect(at));
    EXPECT_EQ(pool.stats().connecting, 2u);
    co_await weir::sleep(1s);
    co_await settle_all();
    EXPECT_EQ(pool.stats().idle, 2u);
    auto one = co_await pool.acquire();
    auto two = co_await pool.acquire();
    EXPECT_EQ(pool.stats().connecting, 2u);
    co_await advance(1s);
    EXPECT_EQ(pool.stats().idle, 2u);
    auto three = co_await pool.acquire();
    EXPECT_EQ(pool.stats().connecting, 0u);  // max
    one.invalidate();
    one.release();
    co_await advance(1s);
    EXPECT_EQ(pool.stats().idle, 2u);
    two.release();
    three.release();
    co_await pool.close();
    EXPECT_EQ(at.most_open, 4);
}

// Objects made ahead that no task needs: failures are retried ever more slowly, for ever.
WEIR_TEST(PoolMaintenance, FailedRefillsBackOff) {
    server at;
    at.is_down = true;
    weir::pool<connection> pool({.max = 4, .min_idle = 1, .max_connect_backoff = 8s},
                                only_connect(at));
    co_await advance(0s);
    EXPECT_EQ(at.connects, 1);
    co_await advance(1s);
    EXPECT_EQ(at.connects, 2);
    co_await advance(2s);
    EXPECT_EQ(at.connects, 3);
    co_await advance(4s);
    EXPECT_EQ(at.connects, 4);
    co_await advance(80s);
    EXPECT_EQ(at.connects, 14);
    at.is_down = false;
    co_await advance(8s);
    EXPECT_EQ(pool.stats().idle, 1u);
    co_await pool.close();
}

WEIR_TEST(PoolMaintenance, IdleObjectsAreClosedAfterTheirTime) {
    server at;
    weir::pool<connection> pool({.max = 4, .idle_timeout = 10s}, at.functions());
    {
        auto one = co_await pool.acquire();
        auto two = co_await pool.acquire();
        one.release();
        co_await weir::sleep(5s);
    }
    co_await advance(5s);
    EXPECT_EQ(pool.stats().idle, 1u);
    co_await advance(5s);
    EXPECT_EQ(pool.stats().idle, 0u);
    EXPECT_EQ(at.closes, 2);
    co_await pool.close();
}

WEIR_TEST(PoolMaintenance, LifetimesEndWithJitter) {
    server at;
    weir::pool<connection> pool(
        {.max = 20, .max_lifetime = 100s, .lifetime_jitter = 0.2, .seed = 7}, only_connect(at));
    std::vector<weir::lease<connection>> lent;
    for (int i = 0; i < 20; ++i) {
        auto one = co_await pool.acquire();
        lent.push_back(std::move(one));
    }
    auto kept = std::move(lent.back());
    lent.clear();
    co_await advance(80s);
    EXPECT_EQ(pool.stats().idle, 19u);
    co_await advance(10s);
    const std::size_t left = pool.stats().idle;
    EXPECT_GT(left, 2u);
    EXPECT_LT(left, 17u);
    co_await advance(10s);
    EXPECT_EQ(pool.stats().idle, 0u);
    EXPECT_EQ(at.open, 1);  // it is lent, and closed when it comes back
    kept.release();
    EXPECT_EQ(at.open, 0);
    co_await pool.close();
}

// Being checked and lent meanwhile, with the timer firing for something else, does not prolong it.
WEIR_TEST(PoolMaintenance, LifetimeEndsAfterACheckToo) {
    server at;
    at.check_time = 10s;
    weir::pool<connection> pool({.max = 1,
                                 .max_wait = 12s,
                                 .check_timeout = 1min,
                                 .max_lifetime = 60s,
                                 .lifetime_jitter = 0},
                                at.functions());
    (co_await pool.acquire()).release();
    auto first = weir::spawn([&]() -> task<> {
        auto lent = co_await pool.acquire();
        co_await weir::sleep(20s);
    });
    co_await settle_all();
    EXPECT_EQ(pool.stats().checking, 1u);
    co_await advance(12s);  // an outdated end of a wait
    co_await first;
    EXPECT_EQ(pool.stats().idle, 1u);
    co_await advance(30s);
    EXPECT_EQ(pool.stats().idle, 0u);
    co_await pool.close();
}

WEIR_TEST(PoolMaintenance, KeepAliveChecksWhatIsIdle) {
    server at;
    at.check_time = 1s;
    weir::pool<connection> pool({.max = 2, .keep_alive = 10s}, at.functions());
    (co_await pool.acquire()).release();
    co_await advance(10s);
    EXPECT_EQ(at.checks, 1);
    EXPECT_EQ(pool.stats().checking, 1u);
    co_await advance(1s);
    EXPECT_EQ(pool.stats().idle, 1u);
    co_await advance(10s);
    EXPECT_EQ(at.checks, 2);
    // A task that acquires meanwhile gets the object that is being checked; no second one is made
    // for it.
    auto lent = co_await pool.acquire();
    EXPECT_EQ(lent->id, 1);
    lent.release();
    at.broken = {1};
    co_await advance(30s);
    EXPECT_EQ(at.open, 0);
    EXPECT_EQ(at.closes, 1);
    EXPECT_EQ(at.connects, 1);
    co_await pool.close();
}

WEIR_TEST(PoolMaintenance, KeepAliveWithAPlainCheck) {
    server at;
    auto functions = only_connect(at);
    functions.check = [&at](connection& one) {
        ++at.checks;
        return !at.broken.contains(one.id);
    };
    weir::pool<connection> pool({.max = 2, .min_idle = 1, .keep_alive = 10s}, std::move(functions));
    co_await advance(95s);
    EXPECT_EQ(at.checks, 9);
    at.broken.insert(1);
    co_await advance(10s);
    EXPECT_EQ(pool.stats().idle, 1u);
    EXPECT_EQ(at.connects, 2);
    co_await pool.close();
}

WEIR_TEST(PoolMaintenance, LongLeasesAreReportedOnceWithTheirPlace) {
    weir::testing::expect_report(weir::report_kind::long_lease, "pool_maintenance_test.cpp", 2);
    server at;
    event_log log;
    weir::pool<connection> pool({.name = "db", .max = 3, .leak_after = 10s, .observer = &log},
                                only_connect(at));
    auto returned = co_await pool.acquire();
    auto leaked = co_await pool.acquire();
    co_await advance(5s);
    returned.release();
    auto later = pool.try_acquire();
    co_await advance(5s);
    EXPECT_EQ(pool.stats().leaks, 1u);
    WEIR_ASSERT_EQ(weir::testing::reports().size(), 1u);
    EXPECT_NE(weir::testing::reports()[0].message.find("db: an object is still lent after 10 s"),
              std::string::npos)
        << weir::testing::reports()[0].message;
    co_await advance(1h);
    EXPECT_EQ(pool.stats().leaks, 2u);
    EXPECT_EQ(log.text, "connected connected lease_held_too_long lease_held_too_long ");
    leaked.release();
    std::move(later).pass().release();
    co_await pool.close();
}

// Nothing to do: no timer is armed, and a deadlock is seen as one.
TEST(PoolMaintenance, NoTimerWithoutNeed) {
    const auto body = []() -> task<> {
        server at;
        weir::pool<connection> pool({.max = 1,
                                     .max_wait = weir::pool_options::forever,
                                     .idle_timeout = 1s,
                                     .leak_after = weir::pool_options::forever},
                                    only_connect(at));
        auto held = co_await pool.acquire();
        auto never = co_await pool.acquire();
    };
    weir::testing::explore_options options;
    options.schedules = 1;
    const auto result = weir::testing::explore(body, options);
    EXPECT_TRUE(result.failed);
    EXPECT_NE(result.text().find("deadlock"), std::string::npos) << result.text();
}

// An object that was checked while it was idle was not used: it keeps its place in the order.
WEIR_TEST(PoolMaintenance, AKeepAliveDoesNotChangeTheOrder) {
    for (const auto order : {weir::idle_order::newest_first, weir::idle_order::oldest_first}) {
        server at;
        at.check_time = 1s;
        weir::pool<connection> pool(
            {.max = 2, .check_after = 1min, .keep_alive = 10s, .order = order}, at.functions());
        auto first = co_await pool.acquire();
        auto second = co_await pool.acquire();
        first.release();
        co_await advance(5s);
        second.release();
        co_await advance(6s);  // the first was checked, the second not yet
        EXPECT_EQ(at.checks, 1);
        EXPECT_EQ(pool.stats().idle, 2u);
        {
            auto lent = co_await pool.acquire();
            EXPECT_EQ(lent->id, order == weir::idle_order::newest_first ? 2 : 1);
        }
        co_await pool.close();
    }
}

// Everything that falls due has its turn, though there is one timer for all.
WEIR_TEST(PoolMaintenance, EveryWaitHasItsOwnEnd) {
    server at;
    weir::pool<connection> pool({.max = 1, .max_wait = 5s, .idle_timeout = 3s}, only_connect(at));
    auto held = co_await pool.acquire();
    const auto begin = weir::now();
    std::vector<weir::clock::duration> ends;
    auto wait = [&]() -> task<> {
        const auto refused = co_await pool.admit();
        EXPECT_FALSE(refused);
        ends.push_back(weir::now() - begin);
    };
    std::vector<handle<>> waiters;
    for (int i = 0; i < 3; ++i) {
        waiters.push_back(weir::spawn(wait));
        co_await advance(2s);
    }
    for (auto& each : waiters) {
        co_await each;
    }
    EXPECT_EQ(ends, (std::vector<weir::clock::duration>{5s, 7s, 9s}));
    held.release();
    co_await advance(3s);
    EXPECT_EQ(pool.stats().idle, 0u);  // and so has the idle object after them
    co_await pool.close();
}

}  // namespace
