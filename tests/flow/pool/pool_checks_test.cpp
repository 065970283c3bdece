// SPDX-License-Identifier: MIT
// What happens to an object between two leases: checks, resets, the end of its usefulness.

#include "support.hpp"

namespace {

using namespace pool_tests;

WEIR_TEST(Pool, ChecksOnCheckOutAndReplacesTheBroken) {
    server at;
    at.check_time = 10ms;
    weir::pool<connection> pool({.max = 3}, at.functions());
    {
        auto one = co_await pool.acquire();
        auto two = co_await pool.acquire();
        EXPECT_EQ(at.checks, 0);  // just connected
    }
    at.broken = {1, 2};
    auto lent = co_await pool.acquire();
    EXPECT_EQ(lent->id, 3);
    EXPECT_EQ(pool.stats().check_failures, 2u);
    co_await settle_all();
    EXPECT_EQ(at.closes, 2);
    lent.release();
    co_await pool.close();
    EXPECT_EQ(at.open, 0);
    EXPECT_EQ(at.closes, 3);
}

WEIR_TEST(Pool, PlainCheckIsCalledInPlace) {
    server at;
    bool is_good = true;
    weir::pool<connection> pool({.max = 3}, {.connect = [&] { return at.connect(); },
                                             .check = [&](connection&) { return is_good; }});
    (co_await pool.acquire()).release();
    EXPECT_TRUE(pool.try_acquire());
    is_good = false;
    EXPECT_FALSE(pool.try_acquire());
    EXPECT_EQ(at.open, 0);
    auto fresh = co_await pool.acquire();
    EXPECT_EQ(fresh->id, 2);
    fresh.release();
    co_await pool.close();
}

WEIR_TEST(Pool, CheckThatThrowsOrTakesTooLongMeansBroken) {
    server at;
    at.check_time = 1min;
    weir::pool<connection> pool({.max = 1, .check_timeout = 1s}, at.functions());
    (co_await pool.acquire()).release();
    const auto begin = weir::now();
    auto second = co_await pool.acquire();
    EXPECT_EQ(second->id, 2);
    EXPECT_EQ(weir::now() - begin, 1s);
    second.release();
    co_await pool.close();
}

WEIR_TEST(Pool, CheckAfterSparesWhatWasJustUsed) {
    server at;
    weir::pool<connection> pool({.max = 1, .check_after = 1s}, at.functions());
    (co_await pool.acquire()).release();
    (co_await pool.acquire()).release();
    EXPECT_TRUE(pool.try_acquire());
    EXPECT_EQ(at.checks, 0);
    co_await weir::sleep(1s);
    EXPECT_FALSE(pool.try_acquire());  // the check takes time
    (co_await pool.acquire()).release();
    EXPECT_EQ(at.checks, 1);
    co_await pool.close();
}

WEIR_TEST(Pool, InvalidatedObjectsAreClosed) {
    server at;
    weir::pool<connection> pool({.max = 1}, at.functions());
    {
        auto lent = co_await pool.acquire();
        lent.invalidate();
    }
    auto fresh = co_await pool.acquire();
    EXPECT_EQ(fresh->id, 2);
    EXPECT_EQ(at.closes, 1);
    fresh.release();
    co_await pool.close();
}

WEIR_TEST(Pool, DetachedObjectsLeaveTheirPlace) {
    server at;
    weir::pool<connection> pool({.max = 1}, only_connect(at));
    auto lent = co_await pool.acquire();
    connection own = lent.detach();
    EXPECT_EQ(own.id, 1);
    EXPECT_FALSE(lent);
    EXPECT_EQ(pool.stats().size(), 0u);
    auto second = co_await pool.acquire();
    EXPECT_EQ(second->id, 2);
    EXPECT_EQ(at.open, 2);
    second.release();
    EXPECT_THROW((void)lent.detach(), weir::invalid_state);
    co_await pool.close();
    EXPECT_EQ(at.open, 1);
    EXPECT_EQ(pool.stats().detached, 1u);
}

WEIR_TEST(Pool, ResetsWhatComesBack) {
    server at;
    auto functions = at.functions();
    functions.check = {};
    functions.reset = [&](connection& one) -> task<> {
        ++at.resets;
        co_await weir::sleep(1s);
        if (at.broken.contains(one.id)) {
            throw std::runtime_error("the transaction cannot be rolled back");
        }
    };
    weir::pool<connection> pool({.max = 1}, std::move(functions));
    (co_await pool.acquire()).release();
    EXPECT_EQ(pool.stats().resetting, 1u);
    const auto begin = weir::now();
    auto again = co_await pool.acquire();
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_EQ(again->id, 1);
    at.broken.insert(1);
    again.release();
    auto fresh = co_await pool.acquire();
    EXPECT_EQ(fresh->id, 2);
    EXPECT_EQ(at.resets, 2);
    fresh.release();
    co_await pool.close();
    EXPECT_EQ(at.open, 0);
}

WEIR_TEST(Pool, PlainResetIsCalledInPlace) {
    server at;
    bool fails = false;
    auto functions = only_connect(at);
    functions.reset = [&](connection&) {
        ++at.resets;
        if (fails) {
            throw std::runtime_error("no");
        }
    };
    weir::pool<connection> pool({.max = 1}, std::move(functions));
    (co_await pool.acquire()).release();
    EXPECT_EQ(pool.stats().idle, 1u);
    fails = true;
    (co_await pool.acquire()).release();
    EXPECT_EQ(pool.stats().idle, 0u);
    EXPECT_EQ(at.resets, 2);
    EXPECT_EQ(at.open, 0);
    co_await pool.close();
}

WEIR_TEST(Pool, ClosesAfterSoManyUses) {
    server at;
    weir::pool<connection> pool({.max = 1, .max_uses = 2}, only_connect(at));
    std::string ids;
    for (int i = 0; i < 5; ++i) {
        auto lent = co_await pool.acquire();
        ids += std::to_string(lent->id);
    }
    EXPECT_EQ(ids, "11223");
    co_await pool.close();
}

WEIR_TEST(Pool, LendsTheNewestOrTheOldestFirst) {
    for (const auto order : {weir::idle_order::newest_first, weir::idle_order::oldest_first}) {
        server at;
        weir::pool<connection> pool({.max = 3, .order = order}, only_connect(at));
        {
            auto one = co_await pool.acquire();
            auto two = co_await pool.acquire();
            auto three = co_await pool.acquire();
            one.release();
            two.release();
            three.release();
        }
        auto lent = co_await pool.acquire();
        EXPECT_EQ(lent->id, order == weir::idle_order::newest_first ? 3 : 1);
        lent.release();
        co_await pool.close();
    }
}

// A task that is stopped after the hand-over and before it goes on has used nothing.
WEIR_TEST(Pool, AGrantThatIsNotUsedCountsNowhere) {
    server at;
    weir::pool<connection> pool({.max = 1, .max_uses = 2}, only_connect(at));
    for (int i = 0; i < 3; ++i) {
        auto lent = co_await pool.acquire();
        EXPECT_EQ(lent->id, 1 + i / 2);
        auto waiter = weir::spawn([&]() -> task<> { auto never = co_await pool.acquire(); });
        co_await advance(1s);
        lent.release();
        waiter.cancel();
        co_await waiter.wait();
        EXPECT_TRUE(waiter.cancelled());
        co_await settle_all();
    }
    const pool_stats stats = pool.stats();
    EXPECT_EQ(stats.acquired, 3u);
    EXPECT_EQ(stats.waits, 1u);  // for the first connect
    EXPECT_EQ(stats.wait_time, 0s);
    EXPECT_EQ(stats.connects, 2u);
    EXPECT_EQ(stats.closed, 1u);
    EXPECT_EQ(stats.idle, 1u);
    co_await pool.close();
}

}  // namespace
