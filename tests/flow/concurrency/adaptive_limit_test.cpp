// SPDX-License-Identifier: MIT
// Adaptive limits: against a server of known capacity, in simulated time, the limit settles near
// what the server can do at a time, and the latency stays bounded. And the contract of the shell.

#include "naive_limit.hpp"
#include "support.hpp"

#include <weir/flow/adaptive_limit.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/sync/semaphore.hpp>

#include <limits>

namespace flow_bulkhead {
namespace {

using weir::adaptive_limit;
using weir::adaptive_limit_options;
using weir::limit_algorithm;

// Serves `capacity` calls concurrently, each for `time`; the rest wait in its queue.
class server {
public:
    server(std::ptrdiff_t capacity, weir::clock::duration time) : workers_(capacity), time_(time) {}
    task<> serve() {
        const auto begin = weir::now();
        auto worker = co_await workers_.acquire();
        co_await weir::sleep(time_);
        slowest_ = std::max(slowest_, weir::now() - begin);
        ++served_;
    }
    void set_time(weir::clock::duration time) { time_ = time; }
    // Since the last call of this function.
    weir::clock::duration slowest() { return std::exchange(slowest_, weir::clock::duration{}); }
    int served() { return std::exchange(served_, 0); }

private:
    weir::semaphore workers_;
    weir::clock::duration time_;
    weir::clock::duration slowest_{};
    int served_ = 0;
};

// Calls come evenly, independent of earlier results.
task<> load(adaptive_limit& limit, server& callee, double per_second, weir::clock::duration time) {
    const auto gap = std::chrono::duration_cast<weir::clock::duration>(
        std::chrono::duration<double>(1 / per_second));
    auto call = [&]() -> task<> {
        const outcome<> ended = co_await limit.settle([&] { return callee.serve(); });
        EXPECT_FALSE(ended.has_error());
    };
    const auto end = weir::now() + time;
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        while (weir::now() < end) {
            group.spawn(call);
            co_await weir::sleep(gap);
        }
    });
}

// Where the limit settles in theory: tolerance * capacity + sqrt(limit). On a small server the room
// that is kept for trying more weighs more.
double settled_limit(double capacity) {
    double limit = capacity;
    for (int i = 0; i < 100; ++i) {
        limit = 1.5 * capacity + std::sqrt(limit);
    }
    return limit;
}

WEIR_TEST(AdaptiveSimulation, GradientFindsTheCapacity) {
    weir::testing::once_is_enough();
    for (const int capacity : {5, 20, 100}) {
        for (const double overload : {1.1, 2.0}) {
            server callee(capacity, 100ms);
            adaptive_limit limit;
            const double rate = overload * capacity / 0.1;
            co_await load(limit, callee, rate, 60s);
            (void)callee.slowest();
            (void)callee.served();
            co_await load(limit, callee, rate, 20s);
            const double expected = settled_limit(capacity);
            EXPECT_GE(static_cast<double>(limit.limit()), capacity) << capacity;
            EXPECT_LE(static_cast<double>(limit.limit()), 1.25 * expected) << capacity;
            EXPECT_LE(std::chrono::duration<double>(callee.slowest()).count(),
                      0.1 * 1.3 * expected / capacity)
                << capacity;
            EXPECT_EQ(limit.stats().base_latency, 100ms) << capacity;
            EXPECT_GE(callee.served(), capacity * 10 * 20 * 95 / 100) << capacity;
        }
    }
}

WEIR_TEST(AdaptiveSimulation, AimdFindsTheCapacity) {
    weir::testing::once_is_enough();
    for (const int capacity : {5, 20, 100}) {
        server callee(capacity, 100ms);
        adaptive_limit limit({.algorithm = limit_algorithm::aimd, .latency_limit = 150ms});
        const double rate = 2.0 * capacity / 0.1;
        co_await load(limit, callee, rate, 60s);
        (void)callee.slowest();
        (void)callee.served();
        co_await load(limit, callee, rate, 20s);
        EXPECT_GE(limit.limit(), static_cast<std::size_t>(capacity)) << capacity;
        EXPECT_LE(limit.limit(), static_cast<std::size_t>(capacity * 2)) << capacity;
        EXPECT_LE(callee.slowest(), 250ms) << capacity;
        EXPECT_GE(callee.served(), capacity * 10 * 20 * 95 / 100) << capacity;
    }
}

WEIR_TEST(AdaptiveSimulation, GradientFollowsAServerThatBecomesSlower) {
    weir::testing::once_is_enough();
    server callee(20, 50ms);
    adaptive_limit limit;
    co_await load(limit, callee, 800, 40s);
    callee.set_time(200ms);  // the same number at a time, each for longer
    co_await load(limit, callee, 800, 120s);
    (void)callee.slowest();
    co_await load(limit, callee, 800, 20s);
    EXPECT_GE(limit.limit(), 18u);
    EXPECT_LE(limit.limit(), 50u);
    EXPECT_LE(callee.slowest(), 500ms);
}

WEIR_TEST(AdaptiveLimit, WhatIsTooMuchIsRefusedAtOnce) {
    adaptive_limit limit({.initial = 2});
    auto first = limit.try_acquire();
    auto second = limit.try_acquire();
    auto third = limit.try_acquire();
    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
    WEIR_ASSERT_FALSE(third.has_value());
    EXPECT_EQ(third.refusal().reason, refusal_reason::concurrency_limited);
    const outcome<int> ended = co_await limit.settle([] { return 1; });
    EXPECT_TRUE(ended.is_refused());
    first.pass().succeeded();
    const int value = co_await limit.run([] { return 1; });
    EXPECT_EQ(value, 1);
    EXPECT_EQ(limit.stats().refused, 2u);
    EXPECT_EQ(limit.stats().samples, 2u);
}

WEIR_TEST(AdaptiveLimit, TimeoutsAreDropsAndOtherErrorsTeachNothing) {
    adaptive_limit limit({.algorithm = limit_algorithm::aimd, .initial = 10, .backoff = 0.5});
    const outcome<> failed =
        co_await limit.settle([]() -> task<> { throw std::runtime_error("no"); });
    EXPECT_TRUE(failed.has_error());
    EXPECT_EQ(limit.stats().samples, 0u);
    const outcome<> late = co_await limit.settle([] { return weir::timeout(1s, weir::sleep(1h)); });
    EXPECT_TRUE(late.has_error());
    EXPECT_EQ(limit.stats().drops, 1u);
    EXPECT_EQ(limit.limit(), 5u);
}

WEIR_TEST(AdaptiveLimit, StoppedCallsTeachNothing) {
    adaptive_limit limit;
    const auto call = weir::spawn(limit.settle([] { return weir::sleep(1h); }));
    co_await settle_all();
    EXPECT_EQ(limit.stats().in_use, 1u);
    call.cancel();
    co_await call.wait();
    EXPECT_EQ(limit.stats().in_use, 0u);
    EXPECT_EQ(limit.stats().samples, 0u);
}

WEIR_TEST(AdaptiveLimit, PlacesAreReservedForTheImportant) {
    adaptive_limit limit({.initial = 10, .reserved = 0.2});
    std::vector<adaptive_limit::pass> passes;
    while (auto in = limit.try_acquire(priority::normal)) {
        passes.push_back(std::move(in).pass());
    }
    EXPECT_EQ(passes.size(), 8u);
    EXPECT_FALSE(limit.try_acquire(priority::low));
    while (auto in = limit.try_acquire(priority::high)) {
        passes.push_back(std::move(in).pass());
    }
    EXPECT_EQ(passes.size(), 10u);
    co_return;
}

WEIR_TEST(AdaptiveLimit, WaitersAreServedInOrderOfImportance) {
    weir::testing::in_ordinary_order();
    adaptive_limit limit({.initial = 1, .max_waiting = 10});
    std::string order;
    auto call = [&](char name, priority level) -> task<> {
        auto waiting = limit.acquire(level);
        auto pass = co_await std::move(waiting);
        order += name;
        co_await weir::sleep(1s);
        pass.succeeded();
    };
    std::vector<handle<>> calls;
    calls.push_back(weir::spawn(call('a', priority::normal)));
    calls.push_back(weir::spawn(call('l', priority::low)));
    calls.push_back(weir::spawn(call('n', priority::normal)));
    calls.push_back(weir::spawn(call('c', priority::critical)));
    for (auto& each : calls) {
        co_await each;
    }
    EXPECT_EQ(order, "acnl");
}

WEIR_TEST(AdaptiveLimit, IsAPolicyOfAPipeline) {
    weir::pipeline api("api",
                       adaptive_limit_options{.algorithm = limit_algorithm::aimd, .initial = 4},
                       weir::attempt_timeout{1s});
    const outcome<> late = co_await api.settle([] { return weir::sleep(1h); });
    EXPECT_TRUE(late.has_error());
    const adaptive_limit& limit = api.get<adaptive_limit>();
    EXPECT_EQ(limit.limit(), 3u);  // nine tenths of four, rounded down
    weir::prometheus_writer page;
    limit.write_metrics(page);
    EXPECT_NE(page.text().find("weir_adaptive_limit_limit{name=\"api\"} 3\n"), std::string::npos);
    EXPECT_NE(page.text().find("weir_adaptive_limit_refused_total{name=\"api\"} 0\n"),
              std::string::npos)
        << page.text();
}

WEIR_TEST(AdaptiveLimit, ACallEndsOnce) {
    adaptive_limit limit({.initial = 2});
    auto in = limit.try_acquire();
    weir::call_context call("test");
    const auto ended = outcome<int>::from_value(1);
    in.pass().succeeded();
    in.pass().finish(weir::outcome_view(ended), call);
    in.pass().dropped();
    EXPECT_EQ(limit.stats().samples, 1u);
    EXPECT_EQ(limit.stats().in_use, 0u);
    co_return;
}

TEST(AdaptiveLimit, BadOptionsAreRefused) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const adaptive_limit_options bad[] = {
        {.min = 0},          {.min = 10, .max = 5}, {.initial = 5, .min = 10},
        {.initial = 2000},   {.backoff = 0},        {.backoff = 1},
        {.backoff = nan},    {.tolerance = 0.5},    {.tolerance = nan},
        {.smoothing = 0},    {.smoothing = 1.5},    {.smoothing = nan},
        {.reserved = -0.1},  {.reserved = 1},       {.reserved = nan},
        {.window_calls = 0}, {.window = -1s},       {.probe_every = 0s},
        {.max_wait = -1s},   {.latency_limit = -1s}};
    for (const adaptive_limit_options& each : bad) {
        EXPECT_THROW(adaptive_limit{each}, weir::invalid_argument);
    }
}

WEIR_TEST(AdaptiveLimit, AGrantThatIsNotUsedCountsAsCancelled) {
    adaptive_limit limit({.initial = 1, .min = 1, .max = 1, .max_waiting = 10});
    auto held = co_await limit.acquire();
    auto waiter = weir::spawn([&]() -> task<> { auto never = co_await limit.acquire(); });
    co_await advance(1s);
    held.release();
    waiter.cancel();
    co_await waiter.wait();
    const weir::adaptive_limit_stats stats = limit.stats();
    EXPECT_EQ(stats.granted, 1u);
    EXPECT_EQ(stats.waited, 0u);
    EXPECT_EQ(stats.cancelled, 1u);
    EXPECT_EQ(stats.time_waited, 0s);
    EXPECT_EQ(stats.in_use, 0u);
}

}  // namespace
}  // namespace flow_bulkhead
