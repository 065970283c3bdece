// SPDX-License-Identifier: MIT
// Bugs that limiters of others had, here for each key.

#include "keyed_property.hpp"
#include "naive_keyed.hpp"

#include <weir/flow/combined_limiter.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>

namespace {

using namespace keyed_tests;
using weir::keyed_limiter;
using weir::refusal_reason;
using weir::task;
using weir::testing::advance;
using weir::testing::settle_all;

// Every new address costs memory for ever. Ours keeps about as many as limit at a time, and never
// more than it may.
WEIR_TEST(KnownBugs, governor_171_unbounded_keys) {
    weir::testing::once_is_enough();
    constexpr int visitors = 300'000;
    keyed_limiter<int> limiter({.rate = 10, .burst = 5, .max_keys = 50'000});
    std::size_t most = 0;
    std::size_t most_bytes = 0;
    for (int visitor = 0; visitor < visitors; ++visitor) {
        EXPECT_TRUE(limiter.try_acquire(visitor));  // each limits for 100 ms: 1000 at a time
        if (visitor % 10 == 9) {
            co_await weir::sleep(1ms);
        }
        most = std::max(most, limiter.stats().keys);
        most_bytes = std::max(most_bytes, limiter.stats().bytes);
    }
    EXPECT_LT(most, 4'000u);
    EXPECT_LT(most_bytes, 200'000u);

    naive::unbounded forever({.rate = {.rate = 10, .burst = 5}});
    for (int visitor = 0; visitor < visitors; ++visitor) {
        (void)forever.take(
            visitor, 1,
            clock::time_point(std::chrono::hours(1000)) + visitor * std::chrono::microseconds(100));
    }
    EXPECT_EQ(forever.keys(), static_cast<std::size_t>(visitors));
}

WEIR_TEST(KnownBugs, upstash_39_a_limit_of_one_passes) {
    keyed_limiter<int> limiter({.rate = 1, .burst = 1});
    EXPECT_TRUE(limiter.try_acquire(1));
    EXPECT_FALSE(limiter.try_acquire(1));
    co_await advance(1s);
    EXPECT_TRUE(limiter.try_acquire(1));
}

WEIR_TEST(KnownBugs, golang_71360_an_older_time_mints_no_tokens) {
    keyed_limiter<int> limiter({.rate = 1, .burst = 2, .max_keys = 2});
    const auto now = weir::now() + 10s;
    EXPECT_TRUE(limiter.try_acquire_at(now, 1, 2));
    EXPECT_FALSE(limiter.try_acquire_at(now - 5s, 1));
    EXPECT_FALSE(limiter.try_acquire_at(now, 1));
    // Nor does a key that was forgotten later come back earlier with a full bucket.
    EXPECT_TRUE(limiter.try_acquire_at(now + 3s, 2, 2));
    EXPECT_TRUE(limiter.try_acquire_at(now + 3s, 3, 2));
    EXPECT_FALSE(limiter.try_acquire_at(now, 1));
    co_return;
}

WEIR_TEST(KnownBugs, golang_37852_who_follows_a_cancelled_front_waiter_goes_on) {
    weir::token_bucket part({.rate = 1, .burst = 10});
    keyed_limiter<int> keyed({.rate = 1, .burst = 10});
    weir::combined_limiter both(part, keyed.for_key(1));
    EXPECT_TRUE(both.try_acquire(10));
    auto ask = [&](double weight) -> task<> { co_await both.acquire(weight); };
    const auto front = weir::spawn(ask(10));
    co_await settle_all();
    const auto next = weir::spawn(ask(1));
    co_await advance(5s);
    EXPECT_FALSE(next.done());
    front.cancel();
    co_await settle_all();
    EXPECT_TRUE(next.done());
}

WEIR_TEST(KnownBugs, dotnet_64078_a_cancelled_waiter_leaves_its_place) {
    keyed_limiter<int> limiter({.rate = 1, .max_waiting = 1});
    EXPECT_TRUE(limiter.try_acquire(1));
    auto ask = [&]() -> task<> { co_await limiter.acquire(1); };
    const auto first = weir::spawn(ask());
    co_await settle_all();
    first.cancel();
    co_await settle_all();
    const auto second = co_await limiter.admit(1);
    EXPECT_TRUE(second);
}

WEIR_TEST(KnownBugs, resilience4j_2194_a_doomed_waiter_is_refused_at_once) {
    keyed_limiter<int> limiter({.rate = 1, .per = 1h});
    EXPECT_TRUE(limiter.try_acquire(1));
    const auto begin = weir::now();
    auto ask = [&]() -> task<refusal_reason> {
        const auto let_in = co_await limiter.admit(1);
        co_return let_in.refusal().reason;
    };
    const refusal_reason why = co_await weir::timeout(1min, ask());
    EXPECT_EQ(why, refusal_reason::past_deadline);
    EXPECT_EQ(weir::now(), begin);
}

}  // namespace
