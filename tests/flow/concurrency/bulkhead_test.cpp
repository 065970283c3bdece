// SPDX-License-Identifier: MIT
// The bulkhead's contract: places, the line, weights, priorities, refusals, resizing.

#include "support.hpp"

#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/local.hpp>

#include <limits>

namespace flow_bulkhead {
namespace {

WEIR_TEST(Bulkhead, SoManyAtATimeAndTheRestInOrder) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 2});
    std::string order;
    std::vector<handle<>> calls;
    for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
        calls.push_back(weir::spawn(hold(tried, order, name, 1s)));
    }
    co_await settle_all();
    EXPECT_EQ(order, "ab");
    EXPECT_EQ(tried.stats().in_use, 2u);
    EXPECT_EQ(tried.stats().waiting, 3u);
    co_await advance(1s);
    EXPECT_EQ(order, "abcd");
    for (auto& each : calls) {
        co_await each;
    }
    EXPECT_EQ(order, "abcde");
    const weir::bulkhead_stats stats = tried.stats();
    EXPECT_EQ(stats.granted, 5u);
    EXPECT_EQ(stats.waited, 3u);
    EXPECT_EQ(stats.time_waited, 4s);
    EXPECT_EQ(stats.most_in_use, 2u);
    EXPECT_EQ(stats.in_use, 0u);
}

WEIR_TEST(Bulkhead, TryAcquireDoesNotWaitAndDoesNotOvertake) {
    bulkhead tried({.max_concurrent = 2});
    auto first = tried.try_acquire();
    EXPECT_TRUE(first);
    std::string order;
    const auto large = weir::spawn(hold(tried, order, 'l', 1s, 2));
    co_await settle_all();
    auto second = tried.try_acquire();  // a place is free, but a waiter needs two
    WEIR_ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.refusal().reason, refusal_reason::concurrency_limited);
    first.pass().release();
    first.pass().release();  // does nothing the second time
    co_await settle_all();
    EXPECT_EQ(order, "l");
    co_await large;
    EXPECT_TRUE(tried.try_acquire());
}

WEIR_TEST(Bulkhead, WhoMayNotWaitIsRefusedAtOnce) {
    const auto refusal_of = [](const weir::bulkhead_options& options) -> task<weir::refusal> {
        bulkhead tried(options);
        auto held = tried.try_acquire();
        const auto begin = weir::now();
        const auto in = co_await tried.admit();
        EXPECT_EQ(weir::now(), begin);
        EXPECT_EQ(tried.stats().refused, 1u);
        co_return in.refusal();
    };
    const auto none = co_await refusal_of({.max_concurrent = 1, .max_waiting = 0});
    EXPECT_EQ(none.reason, refusal_reason::concurrency_limited);
    const auto no_time = co_await refusal_of({.max_concurrent = 1, .max_wait = 0s});
    EXPECT_EQ(no_time.reason, refusal_reason::concurrency_limited);
}

WEIR_TEST(Bulkhead, TheLineIsBounded) {
    bulkhead tried({.max_concurrent = 1, .max_waiting = 2, .name = "orders"});
    std::string order;
    std::vector<handle<>> calls;
    for (const char name : {'a', 'b', 'c'}) {
        calls.push_back(weir::spawn(hold(tried, order, name, 1s)));
    }
    co_await settle_all();
    const auto in = co_await tried.admit();
    WEIR_ASSERT_FALSE(in.has_value());
    EXPECT_EQ(in.refusal().reason, refusal_reason::queue_full);
    WEIR_EXPECT_THROW_WITH(tried.acquire(), weir::refused, "orders: ");
    for (auto& each : calls) {
        co_await each;
    }
}

WEIR_TEST(Bulkhead, NobodyWaitsLongerThanAllowed) {
    bulkhead tried({.max_concurrent = 1, .max_wait = 2s});
    auto held = tried.try_acquire();
    const auto begin = weir::now();
    const auto in = co_await tried.admit();
    WEIR_ASSERT_FALSE(in.has_value());
    EXPECT_EQ(in.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_EQ(tried.stats().timed_out, 1u);
    EXPECT_EQ(tried.stats().waiting, 0u);
}

WEIR_TEST(Bulkhead, WhatCanNeverPassIsRefusedForEver) {
    bulkhead tried({.max_concurrent = 3});
    const auto in = co_await tried.admit(4);
    WEIR_ASSERT_FALSE(in.has_value());
    EXPECT_EQ(in.refusal().retry_after, weir::refusal::never);
    EXPECT_EQ(tried.try_acquire(std::numeric_limits<std::size_t>::max()).refusal().retry_after,
              weir::refusal::never);
    EXPECT_THROW((void)tried.try_acquire(0), weir::invalid_argument);
    EXPECT_THROW((void)tried.acquire(0), weir::invalid_argument);
}

WEIR_TEST(Bulkhead, ALargeRequestIsNotStarved) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 3});
    std::string order;
    std::vector<handle<>> calls;
    calls.push_back(weir::spawn(hold(tried, order, 'a', 1s)));
    calls.push_back(weir::spawn(hold(tried, order, 'b', 2s)));
    calls.push_back(weir::spawn(hold(tried, order, 'L', 1s, 3)));
    for (int i = 0; i < 3; ++i) {  // those would fit all the time
        calls.push_back(weir::spawn(hold(tried, order, 's', 1s)));
        co_await advance(500ms);
    }
    co_await advance(500ms);
    EXPECT_EQ(order, "abL");
    for (auto& each : calls) {
        co_await each;
    }
    EXPECT_EQ(order, "abLsss");
}

// ---- priorities

WEIR_TEST(Bulkhead, TheMoreImportantGoFirst) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 1});
    std::string order;
    std::vector<handle<>> calls;
    const auto ask = [&](char name, priority level) {
        calls.push_back(weir::spawn(hold(tried, order, name, 1s, 1, level)));
    };
    ask('0', priority::low);
    ask('l', priority::low);
    ask('n', priority::normal);
    ask('c', priority::critical);
    ask('m', priority::normal);
    ask('h', priority::high);
    for (auto& each : calls) {
        co_await each;
    }
    EXPECT_EQ(order, "0chnml");
}

WEIR_TEST(Bulkhead, TheMoreImportantDisplaceTheLeastImportant) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 1, .max_waiting = 3});
    std::string order;
    auto ask = [&](char name, priority level) -> task<> {
        auto waiting = tried.admit(1, level);
        auto in = co_await std::move(waiting);
        if (in) {
            order += name;
            co_await weir::sleep(1s);
        } else {
            order += name;
            order += in.refusal().reason == refusal_reason::displaced ? '!' : '?';
        }
    };
    std::vector<handle<>> calls;
    const std::pair<char, priority> asking[] = {
        {'a', priority::normal},  {'b', priority::low}, {'c', priority::low},
        {'d', priority::normal},  {'e', priority::low},  // no room: not more important than any waiter
        {'f', priority::high},                           // instead of c, the newest of the low ones
        {'g', priority::normal},                         // instead of b
        {'h', priority::normal},                         // no room
        {'i', priority::critical}};                      // instead of g
    for (const auto& [name, level] : asking) {
        calls.push_back(weir::spawn(ask(name, level)));
        co_await settle_all();
    }
    for (auto& each : calls) {
        co_await each;
    }
    EXPECT_EQ(order, "ae?c!b!h?g!ifd");
    EXPECT_EQ(tried.stats().displaced, 3u);
    EXPECT_EQ(tried.stats().refused, 5u);
}

WEIR_TEST(Bulkhead, PlacesAreReservedForTheImportant) {
    bulkhead tried({.max_concurrent = 3, .reserved = 1});
    auto first = tried.try_acquire(2, priority::normal);
    EXPECT_TRUE(first);
    EXPECT_FALSE(tried.try_acquire(1, priority::normal));
    EXPECT_EQ(tried.try_acquire(3, priority::normal).refusal().retry_after, weir::refusal::never);
    auto high = tried.try_acquire(1, priority::high);
    EXPECT_TRUE(high);
    tried.resize(4);
    EXPECT_FALSE(tried.try_acquire(1, priority::low));
    EXPECT_TRUE(tried.try_acquire(1, priority::critical));
    EXPECT_THROW(tried.resize(1), weir::invalid_argument);
    co_return;
}

weir::local<priority> importance(priority::normal);

WEIR_TEST(Bulkhead, ImportanceMayComeFromTheTask) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 1, .priority_of = [] { return importance.get(); }});
    auto held = tried.try_acquire();
    std::string order;
    auto ask = [&](char name, priority level) -> task<> {
        importance.set(level);
        co_await tried.run([&] { order += name; });
    };
    const auto first = weir::spawn(ask('n', priority::normal));
    const auto second = weir::spawn(ask('h', priority::high));
    co_await settle_all();
    held.pass().release();
    co_await first;
    co_await second;
    EXPECT_EQ(order, "hn");
}

// ---- resizing, destruction, policies

WEIR_TEST(Bulkhead, Resizing) {
    weir::testing::in_ordinary_order();
    bulkhead tried({.max_concurrent = 1});
    std::string order;
    std::vector<handle<>> calls;
    for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
        calls.push_back(weir::spawn(hold(tried, order, name, 1s)));
    }
    co_await settle_all();
    tried.resize(3);
    co_await settle_all();
    EXPECT_EQ(order, "abc");
    tried.resize(1);  // three run on
    EXPECT_EQ(tried.stats().in_use, 3u);
    EXPECT_EQ(tried.stats().limit, 1u);
    co_await advance(1s);
    EXPECT_EQ(order, "abcd");
    for (auto& each : calls) {
        co_await each;
    }
    EXPECT_THROW(tried.resize(0), weir::invalid_argument);
}

WEIR_TEST(Bulkhead, ResizingRefusesWhoWaitsForMore) {
    bulkhead tried({.max_concurrent = 4});
    auto held = tried.try_acquire(2);
    auto ask = [&](std::size_t weight) -> task<bool> {
        const auto in = co_await tried.admit(weight);
        co_return in.has_value();
    };
    const auto four = weir::spawn(ask(4));
    co_await settle_all();
    const auto two = weir::spawn(ask(2));
    const auto three = weir::spawn(ask(3));
    co_await settle_all();
    EXPECT_EQ(tried.stats().waiting, 3u);
    tried.resize(2);
    co_await settle_all();
    EXPECT_EQ(tried.stats().waiting, 1u);
    held.pass().release();
    const bool got_four = co_await four;
    const bool got_two = co_await two;
    const bool got_three = co_await three;
    EXPECT_FALSE(got_four);
    EXPECT_TRUE(got_two);
    EXPECT_FALSE(got_three);
}

WEIR_TEST(Bulkhead, DestroyedWhileWaitedFor) {
    auto tried =
        std::make_unique<bulkhead>(weir::bulkhead_options{.max_concurrent = 1, .max_wait = 10s});
    auto held = tried->try_acquire();
    auto ask = [&]() -> task<> { auto mine = co_await tried->acquire(); };
    const auto waiting = weir::spawn(ask);
    const auto granted = weir::spawn(ask);
    co_await settle_all();
    held.pass().release();  // granted to one, which has not run yet
    tried.reset();
    WEIR_EXPECT_THROW(waiting, weir::invalid_state);
    WEIR_EXPECT_THROW(granted, weir::invalid_state);
    co_await advance(20s);
}

WEIR_TEST(Bulkhead, RunAndSettle) {
    bulkhead tried({.max_concurrent = 1, .max_waiting = 0, .name = "it"});
    const int value = co_await tried.run([] { return 1; });
    EXPECT_EQ(value, 1);
    WEIR_EXPECT_THROW(tried.run([]() -> task<> { throw std::runtime_error("no"); }),
                      std::runtime_error);
    auto held = tried.try_acquire();
    WEIR_EXPECT_THROW_WITH(tried.run([] {}), weir::refused, "it: ");
    const outcome<> refused = co_await tried.settle([] {});
    EXPECT_TRUE(refused.is_refused());
    EXPECT_EQ(tried.stats().refused, 2u);
}

WEIR_TEST(Bulkhead, IsAPolicyOfAPipeline) {
    weir::pipeline api("api", weir::bulkhead_options{.max_concurrent = 2, .max_waiting = 1});
    int running = 0;
    auto call = [&]() -> task<> {
        ++running;
        EXPECT_LE(running, 2);
        co_await weir::sleep(1s);
        --running;
    };
    std::vector<handle<outcome<>>> calls;
    for (int i = 0; i < 4; ++i) {
        calls.push_back(weir::spawn(api.settle(call)));
    }
    int refused = 0;
    for (auto& each : calls) {
        const outcome<>& ended = co_await each;
        refused += ended.is_refused() ? 1 : 0;
    }
    EXPECT_EQ(refused, 1);
    const outcome<> heavy = co_await api.settle(call, 2.5);  // three places
    WEIR_ASSERT_TRUE(heavy.is_refused());
    EXPECT_EQ(heavy.refusal().retry_after, weir::refusal::never);
}

WEIR_TEST(Bulkhead, MetricsAreWritten) {
    bulkhead tried({.max_concurrent = 3, .name = "db"});
    auto held = tried.try_acquire(2);
    weir::prometheus_writer page;
    tried.write_metrics(page);
    const std::string text = page.text();
    for (const char* const each :
         {"granted_total{name=\"db\"} 1", "waited_total{name=\"db\"} 0",
          "refused_total{name=\"db\"} 0", "displaced_total{name=\"db\"} 0",
          "timed_out_total{name=\"db\"} 0", "cancelled_total{name=\"db\"} 0",
          "wait_seconds_total{name=\"db\"} 0", "limit{name=\"db\"} 3", "in_use{name=\"db\"} 2",
          "waiting{name=\"db\"} 0"}) {
        EXPECT_NE(text.find("\nweir_bulkhead_" + std::string(each) + "\n"), std::string::npos)
            << each << " is missing in:\n"
            << text;
    }
    co_return;
}

TEST(Bulkhead, BadOnesAreRefused) {
    EXPECT_THROW(bulkhead({.max_concurrent = 0}), weir::invalid_argument);
    EXPECT_THROW(bulkhead({.max_wait = -1s}), weir::invalid_argument);
    EXPECT_THROW(bulkhead({.max_concurrent = 2, .reserved = 2}), weir::invalid_argument);
}

// A task that is stopped after its grant and before it goes on was not let in.
WEIR_TEST(Bulkhead, AGrantThatIsNotUsedCountsAsCancelled) {
    bulkhead tried({.max_concurrent = 1});
    auto held = co_await tried.acquire();
    auto waiter = weir::spawn([&]() -> task<> { auto never = co_await tried.acquire(); });
    auto next = weir::spawn([&]() -> task<> { auto in = co_await tried.acquire(); });
    co_await advance(1s);
    held.release();
    EXPECT_EQ(tried.stats().in_use, 1u);  // granted to the waiter, which has not run
    waiter.cancel();
    co_await waiter.wait();
    EXPECT_TRUE(waiter.cancelled());
    co_await next;
    const weir::bulkhead_stats stats = tried.stats();
    EXPECT_EQ(stats.granted, 2u);
    EXPECT_EQ(stats.waited, 1u);
    EXPECT_EQ(stats.cancelled, 1u);
    EXPECT_EQ(stats.refused, 0u);
    EXPECT_EQ(stats.time_waited, 1s);
    EXPECT_EQ(stats.in_use, 0u);
}

WEIR_TEST(Bulkhead, WithNoTimeLeftTheTimeIsUp) {
    bulkhead tried({.max_concurrent = 1});
    const auto held = co_await tried.acquire();
    WEIR_EXPECT_TIMEOUT(weir::timeout(0s, tried.acquire()));
    weir::cancel_scope scope(0s);
    const auto in = co_await scope.run(tried.acquire());
    EXPECT_FALSE(in.has_value());
    const auto refused = co_await weir::timeout(0s, tried.admit());
    EXPECT_EQ(refused.refusal().reason, refusal_reason::past_deadline);
}

}  // namespace
}  // namespace flow_bulkhead
