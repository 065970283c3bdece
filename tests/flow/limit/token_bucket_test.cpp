// SPDX-License-Identifier: MIT
// The contract of the token bucket, and of the line in front of it.

#include <weir/error.hpp>
#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::refusal_reason;
using weir::task;
using weir::token_bucket;
using weir::testing::settle_all;

static_assert(weir::waiting_gate<token_bucket>);
static_assert(std::is_trivially_destructible_v<weir::token_bucket_options>);

static_assert(std::is_trivially_destructible_v<weir::sliding_window_options>);
static_assert(std::is_trivially_destructible_v<weir::sliding_window_counter_options>);
static_assert(std::is_trivially_destructible_v<weir::fixed_window_options>);
static_assert(std::is_trivially_destructible_v<weir::leaky_bucket_options>);

WEIR_TEST(TokenBucket, BurstThenRate) {
    token_bucket bucket({.rate = 10, .burst = 3});
    const auto begin = weir::now();
    for (int i = 0; i < 3; ++i) {
        const auto waited = co_await bucket.acquire();
        EXPECT_EQ(waited, 0ms);
    }
    for (int i = 1; i <= 5; ++i) {
        const auto waited = co_await bucket.acquire();
        EXPECT_EQ(waited, 100ms);
        EXPECT_EQ(weir::now() - begin, i * 100ms);
    }
    EXPECT_EQ(bucket.stats().granted, 8u);
    EXPECT_EQ(bucket.stats().waited, 5u);
    EXPECT_EQ(bucket.stats().time_waited, 500ms);
}

WEIR_TEST(TokenBucket, TryAcquireTellsWhenToComeAgain) {
    token_bucket bucket({.rate = 3, .burst = 1});
    EXPECT_TRUE(bucket.try_acquire());
    const auto refused = bucket.try_acquire();
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().reason, refusal_reason::rate_limited);
    EXPECT_EQ(refused.refusal().retry_after, 333'333'334ns);
    co_await weir::sleep(333'333'333ns);
    EXPECT_FALSE(bucket.try_acquire());
    co_await weir::sleep(1ns);
    EXPECT_TRUE(bucket.try_acquire());
}

WEIR_TEST(TokenBucket, WaitersAreServedInOrderAndNobodyOvertakes) {
    weir::testing::in_ordinary_order();
    token_bucket bucket({.rate = 1, .burst = 5});
    EXPECT_TRUE(bucket.try_acquire(5));
    const auto begin = weir::now();
    std::vector<std::pair<int, std::chrono::nanoseconds>> order;
    auto use = [&](int caller, double weight) -> task<> {
        co_await bucket.acquire(weight);
        order.emplace_back(caller, weir::now() - begin);
    };
    const auto large = weir::spawn(use(1, 5));
    const auto small = weir::spawn(use(2, 1));
    co_await settle_all();
    co_await weir::sleep(2s);
    const auto barging = bucket.try_acquire();
    WEIR_ASSERT_FALSE(barging);
    EXPECT_EQ(barging.refusal().retry_after, 5s);  // 3 s for the first, then two tokens
    co_await large;
    co_await small;
    const std::vector<std::pair<int, std::chrono::nanoseconds>> expected = {{1, 5s}, {2, 6s}};
    EXPECT_EQ(order, expected);
}

WEIR_TEST(TokenBucket, MoreThanTheBurstIsAnErrorAtOnce) {
    token_bucket bucket({.rate = 1, .burst = 2.5, .name = "mail"});
    EXPECT_THROW((void)bucket.try_acquire(2.6), weir::invalid_argument);
    WEIR_EXPECT_THROW_WITH(bucket.acquire(3), weir::invalid_argument,
                           "mail: 3 can never pass: at most 2.5 pass at once");
    EXPECT_THROW((void)bucket.try_acquire(0), weir::invalid_argument);
    EXPECT_THROW((void)bucket.try_acquire(-1), weir::invalid_argument);
    EXPECT_THROW((void)bucket.try_acquire(std::nan("")), weir::invalid_argument);
    EXPECT_TRUE(bucket.try_acquire(2.5));
    co_return;
}

WEIR_TEST(TokenBucket, MaxWaitIsDecidedAtOnce) {
    token_bucket bucket({.rate = 1, .burst = 1, .max_wait = 1500ms});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    const auto first = weir::spawn([&]() -> task<> { co_await bucket.acquire(); });
    co_await settle_all();
    const auto late = co_await bucket.admit();  // would wait 2 s
    EXPECT_EQ(weir::now(), begin);
    WEIR_ASSERT_FALSE(late);
    EXPECT_EQ(late.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(late.refusal().retry_after, 500ms);
    co_await weir::sleep(500ms);
    const auto in_time = co_await bucket.admit();
    EXPECT_TRUE(in_time);
    EXPECT_EQ(weir::now() - begin, 2s);
    co_await first;
}

WEIR_TEST(TokenBucket, ADeadlineThatCannotBeKeptIsRefusedAtOnce) {
    token_bucket bucket({.rate = 1, .burst = 1});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto ask = [&]() -> task<bool> {
        const auto in = co_await bucket.admit();
        co_return in.has_value();
    };
    const bool in = co_await weir::timeout(999ms, ask());
    EXPECT_FALSE(in);
    EXPECT_EQ(weir::now(), begin);
    const bool later = co_await weir::timeout(1001ms, ask());
    EXPECT_TRUE(later);
    EXPECT_EQ(weir::now() - begin, 1s);
}

WEIR_TEST(TokenBucket, TheLineIsBounded) {
    token_bucket bucket({.rate = 1, .burst = 1, .max_waiting = 2, .name = "mail"});
    EXPECT_TRUE(bucket.try_acquire());
    auto use = [&]() -> task<> { co_await bucket.acquire(); };
    const auto first = weir::spawn(use());
    const auto second = weir::spawn(use());
    co_await settle_all();
    EXPECT_EQ(bucket.stats().waiting, 2u);
    const auto third = co_await bucket.admit();
    WEIR_ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal().reason, refusal_reason::queue_full);
    EXPECT_EQ(third.refusal().retry_after, 1s);
    WEIR_EXPECT_THROW_WITH(bucket.acquire(), weir::refused,
                           "mail: too many wait already, retry after 1 s");
    co_await first;
    co_await second;
}

WEIR_TEST(TokenBucket, TheOldestIsDisplaced) {
    weir::testing::in_ordinary_order();
    token_bucket bucket(
        {.rate = 1, .burst = 1, .max_waiting = 1, .when_full = weir::when_full::displace_oldest});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto ask = [&]() -> task<std::optional<refusal_reason>> {
        const auto in = co_await bucket.admit();
        if (in) {
            co_return std::nullopt;
        }
        co_return in.refusal().reason;
    };
    const auto old = weir::spawn(ask());
    const auto young = weir::spawn(ask());
    const auto displaced = co_await old;
    EXPECT_EQ(displaced, refusal_reason::displaced);
    EXPECT_EQ(weir::now(), begin);
    const auto served = co_await young;
    EXPECT_EQ(served, std::nullopt);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_EQ(bucket.stats().displaced, 1u);
}

WEIR_TEST(TokenBucket, LiveRateChangeMovesWaitersAndGivesNoBurst) {
    token_bucket bucket({.rate = 1, .burst = 10});
    EXPECT_TRUE(bucket.try_acquire(10));
    const auto begin = weir::now();
    const auto waiting = weir::spawn([&]() -> task<> { co_await bucket.acquire(5); });
    co_await weir::sleep(1s);
    bucket.set_rate({.rate = 4, .burst = 100});
    co_await waiting;
    EXPECT_EQ(weir::now() - begin, 2s);  // one token so far, four more at the new rate
    EXPECT_FALSE(bucket.try_acquire());
}

WEIR_TEST(TokenBucket, WhoCanNeverPassAfterAChangeIsTold) {
    token_bucket bucket({.rate = 1, .burst = 10});
    EXPECT_TRUE(bucket.try_acquire(10));
    auto ask = [&](double weight) -> task<weir::refusal> {
        const auto in = co_await bucket.admit(weight);
        co_return in ? weir::refusal{} : in.refusal();
    };
    const auto large = weir::spawn(ask(8));
    co_await settle_all();
    bucket.set_rate({.rate = 1, .burst = 5});
    const auto why = co_await large;
    EXPECT_EQ(why.retry_after, weir::refusal::never);
    EXPECT_EQ(bucket.stats().waiting, 0u);
}

WEIR_TEST(TokenBucket, DestroyedWhileWaitedOn) {
    auto bucket = std::make_unique<token_bucket>(weir::token_bucket_options{.rate = 1});
    EXPECT_TRUE(bucket->try_acquire());
    const auto waiting = weir::spawn([](token_bucket& from) -> task<> { co_await from.acquire(); },
                                     std::ref(*bucket));
    co_await settle_all();
    bucket.reset();
    WEIR_EXPECT_THROW_WITH(waiting, weir::invalid_state, "rate limiter was destroyed");
}

WEIR_TEST(TokenBucket, IsAGate) {
    token_bucket bucket({.rate = 1, .burst = 1});
    weir::call_context call("api");
    EXPECT_TRUE(bucket.try_enter(call));
    EXPECT_FALSE(bucket.try_enter(call));
    const auto begin = call.now();
    const auto in = co_await bucket.enter(call);
    EXPECT_TRUE(in);
    EXPECT_EQ(call.now() - begin, 1s);
    weir::call_context large("api", 2);
    const auto never = co_await bucket.enter(large);  // a call that can never pass is refused
    WEIR_ASSERT_FALSE(never);
    EXPECT_EQ(never.refusal().retry_after, weir::refusal::never);
    EXPECT_EQ(bucket.stats().granted, 2u);
    EXPECT_EQ(bucket.stats().refused, 1u);
}

constexpr double infinite = std::numeric_limits<double>::infinity();

template <class Options>
std::string complaint(const Options& options) {
    try {
        const typename Options::policy_type made(options);
        return "none";
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
}

TEST(TokenBucket, RefusesInvalidOptions) {
    using options = weir::token_bucket_options;
    EXPECT_EQ(complaint(options{}),
              "token_bucket: rate is 0; it must be a positive number of tokens");
    for (const double bad : {-1.0, 0.0, infinite, std::nan("")}) {
        EXPECT_NE(complaint(options{.rate = bad}).find("rate is"), std::string::npos);
        EXPECT_NE(complaint(options{.rate = 1, .burst = bad}).find("burst is"), std::string::npos);
    }
    EXPECT_EQ(complaint(options{.rate = 1, .per = 0s}),
              "token_bucket: per is 0 s; it must be a time above zero");
    EXPECT_EQ(complaint(options{.rate = 1, .max_wait = -1s}),
              "token_bucket: max_wait is -1 s; it must be zero or more");
    EXPECT_NE(complaint(options{.rate = 1.1e9}).find("at most one token each nanosecond"),
              std::string::npos);
    EXPECT_NE(complaint(options{.rate = 1e-12}).find("in nine years"), std::string::npos);
    EXPECT_NE(complaint(options{.rate = 1, .burst = 1e12}).find("fills within nine years"),
              std::string::npos);
    EXPECT_EQ(complaint(options{.rate = 1e9, .burst = 1e9}), "none");
    EXPECT_EQ(complaint(options{.rate = 0.001, .burst = 0.5}), "none");
    EXPECT_EQ(complaint(options{.rate = std::numeric_limits<double>::denorm_min(), .per = 1h}),
              "token_bucket: rate is 4.94066e-324; it must be at least one token in nine years");
}

TEST(TokenBucket, ABadChangeChangesNothing) {
    weir::decision::gcra bucket({.rate = 1, .burst = 5});
    EXPECT_THROW(bucket.set_rate({}, {.rate = 0}), weir::invalid_argument);
    EXPECT_DOUBLE_EQ(bucket.capacity(), 5);
    EXPECT_TRUE(bucket.try_take({}, 5).granted);
}

// ---- tiny weights

WEIR_TEST(TokenBucket, NoWeightIsFree) {
    const auto passed = [](double rate, double burst, double weight) {
        token_bucket bucket({.rate = rate, .burst = burst});
        double tokens = 0;
        for (int i = 0; i < 10'000 && bucket.try_acquire(weight); ++i) {
            tokens += weight;
        }
        return tokens;
    };
    EXPECT_LE(passed(1e9, 1, 0.0009), 1);  // a token is a unit here: rounded up
    EXPECT_LE(passed(1e8, 2, 0.10005), 2);
    EXPECT_LE(passed(1e9, 1, 1e-300), 1);
    EXPECT_NEAR(passed(100, 1, 0.001), 1, 1e-9);
    EXPECT_NEAR(passed(1e6, 3, 0.1 + 0.2), 3, 1e-9);
    co_return;
}

// ---- a wait past the deadline

WEIR_TEST(TokenBucket, AWaitPastTheDeadlineIsTheEndOfTheTime) {
    token_bucket bucket({.rate = 1, .burst = 1, .name = "mail"});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    WEIR_EXPECT_THROW_WITH(
        weir::timeout(100ms, bucket.acquire()), weir::timed_out,
        "timed out: mail: the wait would last past the deadline, retry after 1 s");
    weir::cancel_scope scope(100ms);
    const auto waited = co_await scope.run(bucket.acquire());
    EXPECT_EQ(waited, std::nullopt);
    EXPECT_TRUE(scope.expired());
    auto as_default = co_await weir::timeout_or(100ms, bucket.run([] { return 1; }), 2);
    EXPECT_EQ(as_default, 2);
    auto value = co_await weir::timeout(100ms, bucket.admit());
    WEIR_ASSERT_FALSE(value);
    EXPECT_EQ(value.refusal(), (weir::refusal{refusal_reason::past_deadline, 1s}));
    EXPECT_EQ(weir::now(), begin);  // all at once
    EXPECT_EQ(bucket.stats().refused, 4u);
}

// The limiter's own limit is not a deadline of the caller.
WEIR_TEST(TokenBucket, MaxWaitInsideATimeoutIsARefusal) {
    token_bucket bucket({.rate = 1, .burst = 1, .max_wait = 50ms});
    EXPECT_TRUE(bucket.try_acquire());
    WEIR_EXPECT_THROW(weir::timeout(100ms, bucket.acquire()), weir::refused);
    co_return;
}

// A lower rate makes the wait of one that waits already too long.
WEIR_TEST(TokenBucket, ADeadlineThatALowerRateMissesIsTheEndOfTheTime) {
    token_bucket bucket({.rate = 1, .burst = 1});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto waiting = weir::spawn([&]() -> task<> {
        WEIR_EXPECT_TIMEOUT(weir::timeout(3s, bucket.acquire()));
        EXPECT_EQ(weir::now() - begin, 500ms);
        co_return;
    });
    auto behind = weir::spawn([&]() -> task<> {
        WEIR_EXPECT_TIMEOUT(weir::timeout(4s, bucket.acquire()));
        EXPECT_EQ(weir::now() - begin, 500ms);
        co_return;
    });
    co_await weir::testing::advance(500ms);
    bucket.set_rate({.rate = 0.1, .burst = 1});
    co_await waiting;
    co_await behind;
}

}  // namespace
