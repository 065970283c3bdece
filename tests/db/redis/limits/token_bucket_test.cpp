// SPDX-License-Identifier: MIT
// A token bucket that processes share through a real Redis.

#include "support.hpp"

namespace {

using namespace shared_limits;
using redis_test::shared_server;
using weir::refusal_reason;

WEIR_IO_TEST(TokenBucket, IsSharedByAllWithTheKey) {
    redis::client one({.port = shared_server().port()});
    redis::client other({.port = shared_server().port()});
    co_await one.command("DEL", "both", "alone");
    redis::token_bucket here(one, {.key = "both", .rate = 0.001, .burst = 3, .timeout = 5s});
    redis::token_bucket there(other, {.key = "both", .rate = 0.001, .burst = 3, .timeout = 5s});
    redis::token_bucket apart(other, {.key = "alone", .rate = 0.001, .burst = 3, .timeout = 5s});
    const auto first = co_await here.try_acquire(2);
    WEIR_ASSERT_TRUE(first);
    const auto second = co_await there.try_acquire(2);
    WEIR_ASSERT_FALSE(second);
    EXPECT_EQ(second.refusal().reason, refusal_reason::rate_limited);
    EXPECT_GT(second.refusal().retry_after, 900s);
    EXPECT_LE(second.refusal().retry_after, 1000s);
    const auto third = co_await there.try_acquire(1);
    EXPECT_TRUE(third);
    const auto elsewhere = co_await apart.try_acquire(3);
    EXPECT_TRUE(elsewhere);
    const auto wait = co_await there.retry_after();
    EXPECT_GT(wait, 900s);
}

WEIR_IO_TEST(TokenBucket, SurvivesThatRedisForgetsItsScript) {
    redis::client store({.port = shared_server().port()});
    co_await store.command("DEL", "forgets");
    redis::token_bucket limit(store, {.key = "forgets", .rate = 0.001, .burst = 10, .timeout = 5s});
    for (int i = 0; i < 10; ++i) {
        co_await store.command("SCRIPT", "FLUSH");
        const auto in = co_await limit.try_acquire();
        EXPECT_TRUE(in);
    }
    const auto no_more = co_await limit.try_acquire();
    EXPECT_FALSE(no_more);
    EXPECT_EQ(limit.stats().unanswered, 0u);
}

WEIR_IO_TEST(TokenBucket, SetRateChangesTheBurst) {
    redis::client store({.port = shared_server().port()});
    co_await store.command("DEL", "changed");
    redis::token_bucket limit(store, {.key = "changed", .rate = 0.001, .burst = 2, .timeout = 5s});
    EXPECT_EQ(limit.capacity(), 2);
    EXPECT_THROW((void)limit.try_acquire(3), weir::invalid_argument);
    limit.set_rate({.rate = 0.001, .burst = 3});
    EXPECT_EQ(limit.capacity(), 3);
    const auto in = co_await limit.try_acquire(3);
    EXPECT_TRUE(in);
}

}  // namespace
