// SPDX-License-Identifier: MIT
// Bugs that other pools have had. Each test fails for a pool that has the bug.

#include "naive_pool.hpp"
#include "support.hpp"

namespace {

using namespace pool_tests;

// However it got there: all places can be used, and nothing is left over.
task<> expect_whole(weir::pool<connection>& pool, server& at) {
    co_await settle_all();
    const pool_stats now = pool.stats();
    EXPECT_EQ(now.lent + now.waiting, 0u);
    std::vector<weir::lease<connection>> lent;
    for (std::size_t i = 0; i < now.max; ++i) {
        auto one = co_await weir::timeout(1h, pool.acquire());
        lent.push_back(std::move(one));
    }
    EXPECT_EQ(static_cast<std::size_t>(at.open), now.max);
    EXPECT_EQ(at.violations, std::vector<std::string>());
    lent.clear();
    co_await pool.close();
    EXPECT_EQ(at.open, 0);
}

// acquire(timeout) whose time is up at about the moment at which the connect is through.
TEST(KnownBugs, asyncpg_467_timeout_racing_a_connect_loses_no_connection) {
    for (const auto limit : {99ms, 100ms, 101ms}) {
        expect_always(
            [limit]() -> task<> {
                server at;
                at.connect_time = 100ms;
                weir::pool<connection> pool({.max = 2}, only_connect(at));
                auto user = [&]() -> task<> {
                    try {
                        auto lent = co_await weir::timeout(limit, pool.acquire());
                        const use used(*lent);
                        co_await weir::yield();
                    } catch (const weir::timed_out&) {
                    }
                };
                std::vector<handle<>> users;
                for (int i = 0; i < 4; ++i) {
                    users.push_back(weir::spawn(user));
                }
                for (auto& each : users) {
                    co_await each;
                }
                co_await expect_whole(pool, at);
                EXPECT_EQ(at.connects, 2);
            },
            100);
    }
}

// The task is cancelled when the connection has been handed to it and it has not run yet.
TEST(KnownBugs, asyncpg_547_cancel_after_the_hand_over_passes_it_on) {
    expect_always([]() -> task<> {
        server at;
        weir::pool<connection> pool({.max = 1}, only_connect(at));
        auto held = co_await pool.acquire();
        int served = 0;
        auto user = [&]() -> task<> {
            auto lent = co_await pool.acquire();
            const use used(*lent);
            ++served;
        };
        auto first = weir::spawn(user);
        auto second = weir::spawn(user);
        co_await settle_all();
        held.release();  // one of them is granted it
        first.cancel();
        co_await first.wait();
        co_await second;
        EXPECT_GE(served, 1);
        co_await expect_whole(pool, at);
    });
}

// Requests that are dropped while they wait, at any step, under load.
TEST(KnownBugs, bb8_67_dropped_requests_do_not_wear_the_pool_out) {
    expect_always([]() -> task<> {
        server at;
        at.connect_time = 2ms;
        weir::pool<connection> pool({.max = 2}, only_connect(at));
        dice random;
        auto user = [&]() -> task<> {
            auto lent = co_await pool.acquire();
            const use used(*lent);
            co_await random.pause();
        };
        for (int i = 0; i < 30; ++i) {
            auto one = weir::spawn(user);
            auto two = weir::spawn(user);
            auto three = weir::spawn(user);
            co_await random.pause();
            two.cancel();
            one.cancel();
            three.cancel();
            co_await one.wait();
            co_await two.wait();
            co_await three.wait();
        }
        co_await expect_whole(pool, at);
    });
}

// The user is cancelled; the connection has to be closed, which takes awaits of its own.
WEIR_TEST(KnownBugs, sqlalchemy_12077_cancelled_user_does_not_cut_off_the_close) {
    server at;
    auto functions = only_connect(at);
    functions.close = [&at](connection&) -> task<> {
        co_await weir::sleep(1s);  // says good-bye
        co_await weir::sleep(1s);  // and waits for the answer
        ++at.closes;
    };
    weir::pool<connection> pool({.max = 1}, std::move(functions));
    auto user = [&]() -> task<> {
        auto lent = co_await pool.acquire();
        lent.invalidate();  // in the middle of a transaction, for instance
        co_await weir::sleep(1h);
    };
    auto running = weir::spawn(user);
    co_await settle_all();
    running.cancel();
    co_await running.wait();
    EXPECT_EQ(pool.stats().closing, 1u);
    auto fresh = co_await pool.acquire();  // not before the old one is gone
    EXPECT_EQ(at.closes, 1);
    EXPECT_EQ(at.most_open, 1);
    fresh.release();
    co_await expect_whole(pool, at);
}

TEST(KnownBugs, fastpool_17_cancel_during_validation_loses_nothing) {
    expect_always([]() -> task<> {
        server at;
        at.check_time = 2ms;
        weir::pool<connection> pool({.max = 1}, at.functions());
        (co_await pool.acquire()).release();
        auto user = [&]() -> task<> {
            auto lent = co_await pool.acquire();
            const use used(*lent);
        };
        dice random;
        for (int i = 0; i < 5; ++i) {
            auto cancelled = weir::spawn(user);
            co_await random.pause();
            cancelled.cancel();
            co_await cancelled.wait();
            try {
                co_await weir::timeout(1ms, user());
            } catch (const weir::timed_out&) {
            }
        }
        co_await user();
        EXPECT_EQ(at.connects, 1);
        co_await expect_whole(pool, at);
    });
}

// A waits; a connection is ready for it, and A has not run yet. At that moment B comes, takes it
// again and again, and C after it.
template <class Pool>
task<std::string> order_after_hand_over(Pool& pool) {
    std::string order;
    auto busy = [&](char name, int times) -> task<> {
        for (int i = 0; i < times; ++i) {
            auto lent = co_await pool.acquire();
            order += name;
            co_await weir::yield();
        }
    };
    auto lent = co_await pool.acquire();
    auto a = weir::spawn({.start = weir::start::eager}, busy, 'A', 1);
    lent.release();
    EXPECT_FALSE(a.done());
    auto b = weir::spawn({.start = weir::start::eager}, busy, 'B', 50);
    auto c = weir::spawn({.start = weir::start::eager}, busy, 'C', 50);
    co_await a;
    co_await b;
    co_await c;
    co_return order;
}

TEST(KnownBugs, hikaricp_1909_barging_does_not_starve_who_waits) {
    expect_always([]() -> task<> {
        server at;
        weir::pool<connection> pool({.max = 1, .max_wait = 1s}, only_connect(at));
        const std::string order = co_await order_after_hand_over(pool);
        EXPECT_EQ(order.substr(0, 3), "ABC");
        co_await expect_whole(pool, at);
    });
}

WEIR_TEST(KnownBugs, hikaricp_1909_the_test_finds_a_pool_that_barges) {
    server at;
    naive_pool<mistake::newcomers_first> barging(at, 1);
    const std::string order = co_await order_after_hand_over(barging);
    EXPECT_EQ(order.substr(0, 1), "B");
}

// The same with a connection that was just made for A.
WEIR_TEST(KnownBugs, hikaricp_1909_a_fresh_connection_is_not_taken_from_who_waits) {
    weir::testing::in_ordinary_order();
    server at;
    at.connect_time = 1ms;
    weir::pool<connection> pool({.max = 1, .max_wait = 1s}, only_connect(at));
    std::string order;
    auto user = [&](char name) -> task<> {
        auto lent = co_await pool.acquire();
        order += name;
        co_await weir::yield();
    };
    auto a = weir::spawn({.start = weir::start::eager}, user, 'A');
    auto b = weir::spawn([&]() -> task<> {
        co_await weir::sleep(1ms);
        EXPECT_EQ(at.connects, 1);
        EXPECT_EQ(pool.stats().lent, 1u) << "it is there, for A";
        EXPECT_EQ(order, "") << "and A has not run yet";
        EXPECT_FALSE(pool.try_acquire());
        co_await user('B');
    });
    co_await a;
    co_await b;
    EXPECT_EQ(order, "AB");
    co_await expect_whole(pool, at);
}

// Every task that waits while there is room gets a connect of its own, independent of earlier ones.
TEST(KnownBugs, hikaricp_452_lost_signal_to_the_connector) {
    expect_always([]() -> task<> {
        server at;
        at.connect_time = 2ms;
        weir::pool<connection> pool({.max = 4}, only_connect(at));
        dice random;
        auto user = [&]() -> task<> {
            try {
                auto lent = co_await pool.acquire();
                if (random.one_in(3)) {
                    lent.invalidate();
                }
                co_await random.pause();
            } catch (const connect_error&) {
            }
        };
        std::vector<handle<>> users;
        for (int i = 0; i < 24; ++i) {
            users.push_back(weir::spawn(user));
            at.is_down = random.one_in(4);
            co_await random.pause();
            if (random.one_in(3)) {
                users.back().cancel();
            }
            const pool_stats now = pool.stats();
            const std::size_t free = now.max - now.size() - now.connecting - now.closing;
            const std::size_t unserved =
                now.waiting - std::min(now.waiting, now.connecting + now.checking);
            EXPECT_TRUE(unserved == 0 || free == 0) << unserved << " wait, " << free << " free";
        }
        at.is_down = false;
        for (auto& each : users) {
            co_await each.wait();
        }
        co_await expect_whole(pool, at);
    });
}

// A hundred wait for an hour: nothing happens meanwhile.
TEST(KnownBugs, hikaricp_835_spinning_at_saturation) {
    const auto body = []() -> task<> {
        server at;
        at.is_down = true;
        weir::pool<connection> pool(
            {.max = 2, .min_idle = 1, .max_wait = weir::pool_options::forever}, only_connect(at));
        co_await settle_all();  // the connect for min_idle fails, and will again
        at.is_down = false;
        auto one = co_await pool.acquire();
        auto two = co_await pool.acquire();
        auto user = [&]() -> task<> { (co_await pool.acquire()).release(); };
        std::vector<handle<>> users;
        for (int i = 0; i < 100; ++i) {
            users.push_back(weir::spawn(user));
        }
        co_await weir::sleep(1h);
        EXPECT_EQ(pool.stats().waiting, 100u);
        one.release();
        two.release();
        for (auto& each : users) {
            co_await each;
        }
        co_await pool.close();
    };
    weir::testing::explore_options options;
    options.schedules = 1;
    options.most_steps = 1000;
    const auto result = weir::testing::explore(body, options);
    EXPECT_FALSE(result.failed) << result.text();
}

WEIR_TEST(KnownBugs, deadpool_380_resize_underflow) {
    server at;
    weir::pool<connection> pool({.max = 4}, only_connect(at));
    std::vector<weir::lease<connection>> lent;
    for (int i = 0; i < 4; ++i) {
        auto one = co_await pool.acquire();
        lent.push_back(std::move(one));
    }
    pool.resize(1);  // three too many, all of them lent
    pool.resize(2);
    pool.resize(1);
    EXPECT_FALSE(pool.try_acquire());
    while (!lent.empty()) {
        lent.pop_back();
        const pool_stats now = pool.stats();
        EXPECT_EQ(now.lent, lent.size());
        EXPECT_LE(now.idle, 1u);
        EXPECT_LE(now.size(), std::max<std::size_t>(1, lent.size()));
    }
    EXPECT_EQ(at.open, 1);
    pool.resize(3);
    co_await expect_whole(pool, at);
}

// Idle connections that min_idle asks for are not closed, only to be made again.
WEIR_TEST(KnownBugs, bb8_123_reaper_keeps_min_idle) {
    server at;
    weir::pool<connection> pool({.max = 4, .min_idle = 1, .idle_timeout = 1s}, only_connect(at));
    {
        auto one = co_await pool.acquire();
        auto two = co_await pool.acquire();
        co_await settle_all();
        EXPECT_EQ(pool.stats().size(), 3u);
    }
    co_await weir::sleep(1h);
    EXPECT_EQ(pool.stats().idle, 1u);
    EXPECT_EQ(at.connects, 3);
    EXPECT_EQ(pool.stats().closed, 2u);
    co_await expect_whole(pool, at);
}

// The connect continues without the task it was started for, and serves the next.
WEIR_TEST(KnownBugs, sqlx_3513_connect_outlives_its_acquirer) {
    server at;
    at.connect_time = 10s;
    weir::pool<connection> pool({.max = 1, .connect_timeout = 1min}, only_connect(at));
    WEIR_EXPECT_TIMEOUT(weir::timeout(4s, pool.acquire()));
    auto cancelled = weir::spawn([&]() -> task<> { (co_await pool.acquire()).release(); });
    co_await weir::sleep(4s);
    cancelled.cancel();
    co_await cancelled.wait();
    const auto begin = weir::now();
    auto lent = co_await pool.acquire();
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_EQ(at.connects, 1);
    lent.release();
    co_await expect_whole(pool, at);
}

}  // namespace
