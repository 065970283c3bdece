// SPDX-License-Identifier: MIT
// What a pool promises, one promise at a time.

#include "support.hpp"

#include <weir/finally.hpp>
#include <weir/flow/prometheus.hpp>

#include <sstream>

namespace {

using namespace pool_tests;
using weir::refusal_reason;

WEIR_TEST(Pool, LendsAnObjectAndTakesItBack) {
    server at;
    weir::pool<connection> pool({.max = 2}, only_connect(at));
    int first_id = 0;
    {
        auto lent = co_await pool.acquire();
        first_id = lent->id;
        EXPECT_EQ((*lent).id, first_id);
        EXPECT_EQ(pool.stats().lent, 1u);
    }
    EXPECT_EQ(pool.stats().idle, 1u);
    auto again = co_await pool.acquire();
    EXPECT_EQ(again->id, first_id);
    EXPECT_EQ(at.connects, 1);
    again.release();
    EXPECT_FALSE(again);
    co_await pool.close();
    EXPECT_EQ(at.open, 0);
}

WEIR_TEST(Pool, ConnectsUpToTheMaximumAndThenWaits) {
    server at;
    at.connect_time = 1s;
    weir::pool<connection> pool({.max = 2}, only_connect(at));
    int served = 0;
    auto user = [&]() -> task<> {
        auto lent = co_await pool.acquire();
        use used(*lent);
        ++served;
        co_await weir::sleep(10s);
    };
    std::vector<handle<>> users;
    for (int i = 0; i < 6; ++i) {
        users.push_back(weir::spawn(user));
    }
    co_await settle_all();
    EXPECT_EQ(pool.stats().connecting, 2u);
    EXPECT_EQ(pool.stats().waiting, 6u);
    co_await advance(1s);
    EXPECT_EQ(served, 2);
    co_await advance(10s);
    EXPECT_EQ(served, 4);
    for (auto& each : users) {
        co_await each;
    }
    EXPECT_EQ(at.connects, 2);
    EXPECT_EQ(at.most_open, 2);
    EXPECT_TRUE(at.violations.empty());
    EXPECT_EQ(pool.stats().waits, 6u);
    co_await pool.close();
}

WEIR_TEST(Pool, TryAcquireTakesWhatIsIdleAndNeverWaits) {
    server at;
    weir::pool<connection> pool({.max = 1}, only_connect(at));
    {
        auto nothing = pool.try_acquire();
        EXPECT_FALSE(nothing);
        EXPECT_EQ(nothing.refusal().reason, refusal_reason::concurrency_limited);
    }
    (co_await pool.acquire()).release();
    auto taken = pool.try_acquire();
    EXPECT_TRUE(taken);
    EXPECT_FALSE(pool.try_acquire());
    EXPECT_EQ(pool.stats().refused, 2u);
    std::move(taken).pass().release();
    co_await pool.close();
    auto late = pool.try_acquire();
    EXPECT_EQ(late.refusal().reason, refusal_reason::shut_down);
    EXPECT_EQ(late.refusal().retry_after, weir::refusal::never);
}

WEIR_TEST(Pool, RefusesWhenTheWaitIsTooLong) {
    server at;
    weir::pool<connection> pool({.name = "db", .max = 1, .max_wait = 5s}, only_connect(at));
    auto lent = co_await pool.acquire();
    const auto begin = weir::now();
    auto refused = co_await pool.admit();
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(weir::now() - begin, 5s);
    WEIR_EXPECT_THROW_WITH(pool.acquire(), weir::refused, "db: the wait would be too long");
    EXPECT_EQ(pool.stats().wait_timeouts, 2u);
    EXPECT_EQ(pool.stats().waiting, 0u);
    lent.release();
    co_await pool.close();
}

WEIR_TEST(Pool, RefusesWhenTooManyWait) {
    server at;
    at.connect_time = 1s;
    weir::pool<connection> pool({.max = 1, .max_waiting = 1}, only_connect(at));
    auto hold = [&]() -> task<> {
        auto lent = co_await pool.acquire();
        co_await weir::sleep(1s);
    };
    // One connects, one may wait for it to come back, the next is too many.
    const auto first = weir::spawn(hold);
    const auto second = weir::spawn(hold);
    co_await settle_all();
    EXPECT_EQ(pool.stats().waiting, 2u);
    auto third = co_await pool.admit();
    WEIR_ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal().reason, refusal_reason::queue_full);
    co_await first;
    co_await second;
    co_await pool.close();
}

WEIR_TEST(Pool, ConnectErrorIsThrownAndFreesThePlace) {
    server at;
    at.is_down = true;
    weir::pool<connection> pool({.max = 1}, only_connect(at));
    WEIR_EXPECT_THROW(pool.acquire(), connect_error);
    WEIR_EXPECT_THROW(pool.admit(), connect_error);
    EXPECT_EQ(pool.stats().connect_failures, 2u);
    EXPECT_EQ(pool.stats().connecting, 0u);
    at.is_down = false;
    WEIR_EXPECT_NO_THROW(pool.acquire());
    EXPECT_EQ(at.open, 1);
    co_await pool.close();
}

WEIR_TEST(Pool, ConnectTimesOut) {
    server at;
    at.connect_time = 1min;
    weir::pool<connection> pool({.max = 1, .connect_timeout = 2s}, only_connect(at));
    const auto begin = weir::now();
    WEIR_EXPECT_TIMEOUT(pool.acquire());
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_EQ(at.open, 0);
    co_await pool.close();
}

// The error of a connect goes to one waiter, the oldest; the others continue.
WEIR_TEST(Pool, OneFailedConnectFailsOneWaiter) {
    server at;
    at.connect_time = 1s;
    weir::pool<connection> pool({.max = 2}, only_connect(at));
    int failed = 0;
    int served = 0;
    auto user = [&]() -> task<> {
        try {
            auto lent = co_await pool.acquire();
            ++served;
        } catch (const connect_error&) {
            ++failed;
        }
    };
    at.is_down = true;
    std::vector<handle<>> users;
    for (int i = 0; i < 5; ++i) {
        users.push_back(weir::spawn(user));
    }
    co_await advance(1s);
    EXPECT_EQ(failed, 2);
    at.is_down = false;
    for (auto& each : users) {
        co_await each;
    }
    EXPECT_EQ(failed, 2);
    EXPECT_EQ(served, 3);
    co_await pool.close();
}

WEIR_TEST(Pool, BacksOffAfterFailedConnects) {
    server at;
    at.is_down = true;
    weir::pool<connection> pool({.max = 5, .connect_backoff = 100ms, .max_connect_backoff = 300ms},
                                only_connect(at));
    WEIR_EXPECT_THROW(pool.acquire(), connect_error);
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(pool.acquire(), connect_error);
    EXPECT_EQ(weir::now() - begin, 100ms);
    WEIR_EXPECT_THROW(pool.acquire(), connect_error);
    EXPECT_EQ(weir::now() - begin, 300ms);
    WEIR_EXPECT_THROW(pool.acquire(), connect_error);
    EXPECT_EQ(weir::now() - begin, 600ms);
    // No connect is due before this task's time is up: no use in waiting.
    auto refused = co_await weir::timeout(100ms, pool.admit());
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().reason, refusal_reason::past_deadline);
    EXPECT_EQ(refused.refusal().retry_after, 300ms);
    WEIR_EXPECT_TIMEOUT(weir::timeout(100ms, pool.acquire()));
    EXPECT_EQ(weir::now() - begin, 600ms);
    at.is_down = false;
    WEIR_EXPECT_NO_THROW(pool.acquire());
    EXPECT_EQ(weir::now() - begin, 900ms);
    co_await pool.close();
}

WEIR_TEST(Pool, ResizesUpAndDown) {
    server at;
    weir::pool<connection> pool({.max = 1}, only_connect(at));
    auto one = co_await pool.acquire();
    auto waits = [&]() -> task<int> {
        auto lent = co_await pool.acquire();
        co_return lent->id;
    };
    auto second = weir::spawn(waits);
    co_await settle_all();
    EXPECT_FALSE(second.done());
    pool.resize(3);
    const int second_id = co_await second;
    EXPECT_EQ(second_id, 2);
    auto two = co_await pool.acquire();
    auto three = co_await pool.acquire();
    EXPECT_EQ(at.open, 3);
    pool.resize(1);
    EXPECT_EQ(pool.stats().lent, 3u);
    two.release();
    three.release();
    EXPECT_EQ(at.open, 1);
    one.release();
    EXPECT_EQ(pool.stats().idle, 1u);
    EXPECT_THROW(pool.resize(0), weir::invalid_argument);
    EXPECT_EQ(pool.stats().max, 1u);
    co_await pool.close();
}

WEIR_TEST(Pool, SuspendsAndResumes) {
    server at;
    weir::pool<connection> pool({.max = 2}, only_connect(at));
    auto lent = co_await pool.acquire();
    pool.suspend();
    lent.release();
    EXPECT_FALSE(pool.try_acquire());
    auto waits = [&]() -> task<int> {
        auto got = co_await pool.acquire();
        co_return got->id;
    };
    auto waiter = weir::spawn(waits);
    co_await advance(1s);
    EXPECT_FALSE(waiter.done());
    EXPECT_EQ(at.connects, 1);
    pool.resume();
    const int id = co_await waiter;
    EXPECT_EQ(id, 1);
    co_await pool.close();
}

WEIR_TEST(Pool, EvictsAllThatThereIsNow) {
    server at;
    weir::pool<connection> pool({.max = 3}, at.functions());
    auto held = co_await pool.acquire();
    (co_await pool.acquire()).release();
    pool.evict_all();
    co_await settle_all();
    EXPECT_EQ(at.open, 1);
    held.release();
    co_await settle_all();
    EXPECT_EQ(at.open, 0);
    EXPECT_EQ(at.closes, 2);
    auto fresh = co_await pool.acquire();
    EXPECT_EQ(fresh->id, 3);
    fresh.release();
    co_await pool.close();
}

// Neither do those escape that the pool's tasks are busy with.
WEIR_TEST(Pool, EvictsWhatIsOnItsWay) {
    server at;
    at.connect_time = 2s;
    at.check_time = 2s;
    weir::pool<connection> pool({.max = 2, .check_after = 1s}, at.functions());
    (co_await pool.acquire()).release();
    co_await weir::sleep(1s);
    auto first = weir::spawn([&]() -> task<int> {
        auto lent = co_await pool.acquire();  // being checked: 1
        co_return lent->id;
    });
    auto second = weir::spawn([&]() -> task<int> {
        auto lent = co_await pool.acquire();  // being connected: 2
        co_return lent->id;
    });
    co_await advance(1s);
    EXPECT_EQ(pool.stats().checking + pool.stats().connecting, 2u);
    pool.evict_all();
    const int first_id = co_await first;
    const int second_id = co_await second;
    EXPECT_GE(first_id, 3);
    EXPECT_GE(second_id, 3);
    co_await pool.close();
    EXPECT_EQ(at.open, 0);
    EXPECT_EQ(at.most_open, 2);
}

WEIR_TEST(Pool, TellsOfConnectsThatFailed) {
    event_log log;
    weir::pool<int> pool({.name = "db", .max = 1, .observer = &log},
                         []() -> int { throw std::runtime_error("down"); });
    WEIR_EXPECT_THROW_WITH(pool.acquire(), std::runtime_error, "down");
    EXPECT_TRUE(log.text.starts_with("connect_failed ")) << log.text;
    co_await pool.close();
}

WEIR_TEST(Pool, TellsEventsAndMetrics) {
    server at;
    event_log log;
    weir::pool<connection> pool({.name = "db", .max = 2, .observer = &log}, at.functions());
    (co_await pool.acquire()).release();
    at.broken.insert(1);
    (co_await pool.acquire()).release();
    weir::prometheus_writer page;
    pool.write_metrics(page);
    const std::string text = page.text();
    EXPECT_NE(text.find("weir_pool_acquired_total{name=\"db\"} 2"), std::string::npos) << text;
    EXPECT_NE(text.find("weir_pool_check_failures_total{name=\"db\"} 1"), std::string::npos);
    EXPECT_NE(text.find("weir_pool_idle{name=\"db\"} 1"), std::string::npos);
    EXPECT_NE(text.find("weir_pool_wait_seconds_total{name=\"db\"} 0"), std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(line.starts_with("weir_pool_") || line.starts_with("# HELP weir_pool_") ||
                    line.starts_with("# TYPE weir_pool_"))
            << line;
    }
    co_await pool.close();
    EXPECT_EQ(log.text, "connected check_failed connected closed ");
}

WEIR_TEST(Pool, WorksWithWith) {
    server at;
    weir::pool<connection> pool({.max = 2}, at.functions());
    auto body = [](weir::pool<connection>& used) -> task<int> {
        auto lent = co_await used.acquire();
        co_return lent->id;
    };
    const int id = co_await weir::with(pool, body);
    EXPECT_EQ(id, 1);
    EXPECT_EQ(at.closes, 1);
}

// An object that is being closed has its place until it is gone: the server counts it, too.
WEIR_TEST(Pool, AnObjectThatIsBeingClosedTakesItsPlace) {
    server at;
    auto functions = only_connect(at);
    functions.close = [](connection&) -> task<> { co_await weir::sleep(5s); };
    weir::pool<connection> pool({.max = 1, .close_timeout = 1min}, std::move(functions));
    auto first = co_await pool.acquire();
    first.invalidate();
    first.release();
    EXPECT_EQ(pool.stats().closing, 1u);
    const auto begin = weir::now();
    {
        auto second = co_await pool.acquire();
        EXPECT_EQ(second->id, 2);
        EXPECT_EQ(weir::now() - begin, 5s);
    }
    EXPECT_EQ(at.most_open, 1);
    co_await pool.close();
}

// A request for which there is room does not count as waiting.
WEIR_TEST(Pool, NobodyMayWaitButForAConnect) {
    server at;
    at.connect_time = 1s;
    weir::pool<connection> pool({.max = 2, .max_waiting = 0}, only_connect(at));
    auto hold = [&]() -> task<bool> {
        const auto lent = co_await pool.admit();
        co_await weir::sleep(10s);
        co_return lent.has_value();
    };
    auto first = weir::spawn(hold);
    auto second = weir::spawn(hold);
    co_await settle_all();
    const auto third = co_await pool.admit();
    WEIR_ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal().reason, refusal_reason::queue_full);
    const bool first_had = co_await first;
    const bool second_had = co_await second;
    EXPECT_TRUE(first_had && second_had);
    auto again = co_await pool.admit();  // one is idle
    EXPECT_TRUE(again);
    std::move(again).pass().release();
    co_await pool.close();
}

WEIR_TEST(Pool, ADetachedObjectMakesRoomForWhoWaits) {
    server at;
    weir::pool<connection> pool({.max = 1}, only_connect(at));
    auto lent = co_await pool.acquire();
    auto waiter = weir::spawn([&]() -> task<int> {
        auto got = co_await pool.acquire();
        co_return got->id;
    });
    co_await settle_all();
    const auto kept = lent.detach();
    const int id = co_await waiter;
    EXPECT_EQ(id, 2);
    EXPECT_EQ(pool.stats().detached, 1u);
    co_await pool.close();
}

// All counters, in one story.
WEIR_TEST(Pool, CountsEverything) {
    server at;
    weir::pool<connection> pool({.max = 1, .max_waiting = 2, .max_wait = 4s}, at.functions());
    auto lent = co_await pool.acquire();  // connects: a wait of no time
    EXPECT_FALSE(pool.try_acquire());
    auto wait = [&]() -> task<bool> {
        auto got = co_await pool.admit();
        co_return got.has_value();
    };
    auto served = weir::spawn(wait);
    co_await advance(1s);
    auto late = weir::spawn(wait);
    co_await settle_all();
    const auto too_many = co_await pool.admit();
    EXPECT_FALSE(too_many);
    co_await advance(2s);
    lent.release();  // after 3 s; checked, and handed to the first
    const bool first = co_await served;
    const bool second = co_await late;
    EXPECT_TRUE(first && second);
    auto held = co_await pool.acquire();
    const auto timed_out = co_await pool.admit();
    EXPECT_FALSE(timed_out);
    at.broken.insert(held->id);
    held.release();
    at.is_down = true;
    WEIR_EXPECT_THROW(pool.acquire(), connect_error);
    at.is_down = false;
    auto last = co_await pool.acquire();
    auto refused_at_the_end = weir::spawn(wait);
    co_await settle_all();
    auto closing = weir::spawn(pool.close());
    const bool third = co_await refused_at_the_end;
    EXPECT_FALSE(third);
    last.release();
    co_await closing;
    EXPECT_EQ(pool.stats(), (pool_stats{.max = 1,
                                        .acquired = 5,
                                        .waits = 5,
                                        .wait_time = 3s + 2s,
                                        .refused = 4,
                                        .wait_timeouts = 1,
                                        .connects = 2,
                                        .connect_failures = 1,
                                        .check_failures = 1,
                                        .closed = 2}));
}

}  // namespace
