// SPDX-License-Identifier: MIT
// What a user puts under a timeout on the first day: waiting for a limiter, a lock or a retry ends
// with timed_out, whatever waits, and work sees the deadline wherever it is started from, except in
// a task that is not awaited.

#include "support.hpp"

#include <weir/flow/batch.hpp>
#include <weir/flow/bulkhead.hpp>
#include <weir/flow/consume.hpp>
#include <weir/flow/map_concurrent.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/weir.hpp>

#include <map>

namespace {

using namespace stream_tests;

WEIR_TEST(UnderATimeout, WhateverWaitsEndsWithTimedOut) {
    weir::token_bucket bucket({.rate = 1, .burst = 1});
    co_await bucket.acquire();
    WEIR_EXPECT_THROW(weir::timeout(100ms, bucket.acquire()), weir::timed_out);
    weir::semaphore semaphore(1);
    auto held = co_await semaphore.acquire();
    WEIR_EXPECT_THROW(weir::timeout(100ms, semaphore.acquire()), weir::timed_out);
    weir::bulkhead bulkhead({.max_concurrent = 1, .max_waiting = 10});
    auto long_call = []() -> task<> { co_await weir::sleep(1h); };
    auto occupy = [&]() -> task<> { co_await bulkhead.run(long_call); };
    auto occupied = weir::spawn(occupy);
    co_await settle_all();
    auto waits = [&]() -> task<> { co_await bulkhead.run(long_call); };
    WEIR_EXPECT_THROW(weir::timeout(100ms, waits()), weir::timed_out);
    occupied.cancel();
    co_await occupied.wait();
    auto fails = []() -> task<int> {
        throw std::runtime_error("no");
        co_return 1;
    };
    auto retries = [&]() -> task<int> {
        co_return co_await weir::retry(
            {.max_attempts = 10, .backoff = weir::exponential_backoff(50ms, 2s)}, fails);
    };
    const auto retried = co_await weir::settle(weir::timeout(100ms, retries()));
    EXPECT_FALSE(retried.has_value());
    weir::cancel_scope scope(100ms);
    const auto scoped = co_await weir::settle(scope.run(bucket.acquire()));
    EXPECT_TRUE(scoped.has_value() && !scoped.value()) << "an empty result: the scope has expired";
}

WEIR_TEST(UnderATimeout, WorkSeesTheDeadlineWhereverItIsStarted) {
    std::map<std::string, bool> has_deadline;
    auto ask = [&](std::string where) -> task<int> {
        has_deadline[where] = weir::current_deadline() != weir::clock::time_point::max();
        co_return 1;
    };
    auto inside = [&]() -> task<> {
        const std::vector<int> ones{1};
        co_await ask("direct");
        co_await weir::gather(ask("gather"), ask("gather"));
        co_await weir::race(ask("race"), ask("race"));
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            group.spawn(ask("group"));
            co_return;
        });
        auto in_map = [&](int) { return ask("map_concurrent"); };
        auto mapped = weir::map_concurrent(weir::range(1), 1, in_map);
        while (auto each = co_await mapped.next()) {
        }
        auto in_batch = [&](int) { return ask("batch"); };
        co_await weir::batch(ones, {}, in_batch);
        auto in_consume = [&](int) { return ask("consume"); };
        co_await weir::consume(ones, {}, in_consume);
        auto spawned = weir::spawn(ask("spawn"));
        co_await spawned;
    };
    co_await weir::timeout(5s, inside());
    EXPECT_EQ(has_deadline.size(), 8u);
    for (const auto& [where, has] : has_deadline) {
        EXPECT_EQ(has, where != "spawn") << where << ": a spawned task belongs to the loop";
    }
}

}  // namespace
