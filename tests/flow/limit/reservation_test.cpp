// SPDX-License-Identifier: MIT
// Reservations: a place in the line without a waiting fiber.

#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <memory>
#include <optional>

namespace {

using namespace std::chrono_literals;
using weir::refusal_reason;
using weir::task;
using weir::token_bucket;
using weir::testing::settle_all;

WEIR_TEST(Reservation, SaysWhenAndWaits) {
    token_bucket bucket({.rate = 1, .burst = 2});
    const auto begin = weir::now();
    auto now = bucket.reserve(2).value();
    EXPECT_TRUE(now.is_due());
    EXPECT_EQ(now.when(), begin);
    auto later = bucket.reserve().value();
    EXPECT_FALSE(later.is_due());
    EXPECT_EQ(later.when(), begin + 1s);
    now.use();
    EXPECT_FALSE(now);
    const auto waited = co_await later.wait();
    EXPECT_EQ(waited, 1s);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_FALSE(later);
    EXPECT_THROW(static_cast<void>(later.when()), weir::invalid_state);
    EXPECT_THROW(static_cast<void>(later.wait()), weir::invalid_state);
    EXPECT_EQ(bucket.stats().granted, 2u);
    EXPECT_EQ(bucket.stats().cancelled, 0u);
}

WEIR_TEST(Reservation, IsGivenBackUnlessUsed) {
    token_bucket bucket({.rate = 1, .burst = 3});
    const auto begin = weir::now();
    {
        auto due = bucket.reserve(3).value();
        auto waiting = bucket.reserve(2).value();
        EXPECT_EQ(waiting.when(), begin + 2s);
    }
    EXPECT_EQ(bucket.stats().cancelled, 2u);
    EXPECT_EQ(bucket.stats().granted, 0u);
    EXPECT_EQ(bucket.stats().waiting, 0u);
    EXPECT_TRUE(bucket.try_acquire(3));
    co_return;
}

WEIR_TEST(Reservation, FollowersMoveUpWhenOneIsCancelled) {
    token_bucket bucket({.rate = 1, .burst = 3});
    EXPECT_TRUE(bucket.try_acquire(3));
    const auto begin = weir::now();
    auto first = bucket.reserve(2).value();
    auto second = bucket.reserve(3).value();
    const auto task_behind = weir::spawn([&]() -> task<> { co_await bucket.acquire(); });
    co_await settle_all();
    auto last = bucket.reserve().value();
    EXPECT_EQ(last.when(), begin + 7s);
    second.cancel();
    EXPECT_EQ(last.when(), begin + 4s);
    first.cancel();
    EXPECT_EQ(last.when(), begin + 2s);
    co_await task_behind;
    EXPECT_EQ(weir::now() - begin, 1s);
    co_await last.wait();
    EXPECT_EQ(weir::now() - begin, 2s);
}

WEIR_TEST(Reservation, UsedBeforeItsTurnItKeepsItsPlace) {
    token_bucket bucket({.rate = 1, .burst = 1});
    const auto begin = weir::now();
    EXPECT_TRUE(bucket.try_acquire());
    {
        auto place = bucket.reserve().value();
        place.use();
    }
    EXPECT_EQ(bucket.stats().waiting, 1u);
    co_await bucket.acquire();
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_EQ(bucket.stats().granted, 3u);
    auto left_behind = bucket.reserve().value();
    left_behind.use();  // goes with the limiter
}

WEIR_TEST(Reservation, IsRefusedAsAnyOther) {
    token_bucket bucket({.rate = 1, .burst = 1, .max_waiting = 1, .max_wait = 5s});
    EXPECT_TRUE(bucket.try_acquire());
    auto first = bucket.reserve().value();
    const auto second = bucket.reserve();
    WEIR_ASSERT_FALSE(second);
    EXPECT_EQ(second.refusal().reason, refusal_reason::queue_full);
    EXPECT_THROW(static_cast<void>(bucket.reserve(2)), weir::invalid_argument);
    token_bucket slow({.rate = 0.1, .burst = 1, .max_wait = 5s});
    EXPECT_TRUE(slow.try_acquire());
    const auto late = slow.reserve();
    WEIR_ASSERT_FALSE(late);
    EXPECT_EQ(late.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(late.refusal().retry_after, 5s);
    co_return;
}

WEIR_TEST(Reservation, LearnsThatItWasDisplaced) {
    token_bucket bucket(
        {.rate = 1, .burst = 1, .max_waiting = 1, .when_full = weir::when_full::displace_oldest});
    EXPECT_TRUE(bucket.try_acquire());
    auto old = bucket.reserve().value();
    auto young = bucket.reserve().value();
    EXPECT_EQ(old.when(), weir::clock::time_point::max());
    WEIR_EXPECT_THROW_WITH(old.wait(), weir::refused, "displaced by another");
    co_await young.wait();
}

WEIR_TEST(Reservation, OutlivesItsLimiter) {
    auto bucket = std::make_unique<token_bucket>(weir::token_bucket_options{.rate = 1});
    auto due = bucket->reserve().value();
    auto waiting = bucket->reserve().value();
    bucket.reset();
    EXPECT_FALSE(due.is_due());
    WEIR_EXPECT_THROW_WITH(waiting.wait(), weir::invalid_state, "was destroyed");
}

WEIR_TEST(Reservation, AStoppedWaitLeavesItAsItWas) {
    token_bucket bucket({.rate = 1, .burst = 1});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto place = bucket.reserve().value();
    auto wait = [&]() -> task<> { co_await place.wait(); };
    const auto stopped = weir::spawn(wait());
    co_await settle_all();
    EXPECT_THROW(static_cast<void>(place.wait()), weir::invalid_state);
    stopped.cancel();
    co_await stopped.wait();
    EXPECT_TRUE(place);
    co_await place.wait();
    EXPECT_EQ(weir::now() - begin, 1s);
}

TEST(Reservation, OutlivesItsLoop) {
    std::optional<token_bucket> bucket;
    bucket.emplace(weir::token_bucket_options{.rate = 1});
    std::vector<weir::reservation> kept;
    auto body = [&]() -> task<> {
        for (int i = 0; i < 3; ++i) {
            kept.push_back(bucket->reserve().value());
        }
        co_return;
    };
    weir::run(body(), {.driver = weir::driver_kind::simulated});
    kept.clear();
    EXPECT_EQ(bucket->stats().waiting, 0u);
}

WEIR_TEST(Reservation, ForWindowsToo) {
    weir::sliding_window window({.limit = 2});
    const auto begin = weir::now();
    std::vector<weir::reservation> places;
    for (int i = 0; i < 6; ++i) {
        places.push_back(window.reserve().value());
        EXPECT_EQ(places.back().when() - begin, std::chrono::seconds(i / 2));
    }
    places[3].cancel();
    EXPECT_EQ(places[4].when() - begin, 1s);
    EXPECT_EQ(places[5].when() - begin, 2s);
    co_return;
}

WEIR_TEST(Reservation, AWaiterLearnsThatItWasCancelled) {
    weir::token_bucket bucket({.rate = 1});
    EXPECT_TRUE(bucket.try_acquire());
    auto place = bucket.reserve().value();
    auto wait = [&]() -> task<> { co_await place.wait(); };
    auto waiting = weir::spawn(wait(), {.start = weir::start::eager});
    place.cancel();
    WEIR_EXPECT_THROW_WITH(std::move(waiting), weir::invalid_state, "used or cancelled");
}

WEIR_TEST(Reservation, MayBeMovedOrDestroyedWhileItIsAwaited) {
    weir::token_bucket bucket({.rate = 1});
    EXPECT_TRUE(bucket.try_acquire());
    auto place = std::make_unique<weir::reservation>(bucket.reserve().value());
    auto wait = [&]() -> task<> { co_await place->wait(); };
    auto waiting = weir::spawn(wait(), {.start = weir::start::eager});
    auto moved = std::make_unique<weir::reservation>(std::move(*place));
    place.reset();
    co_await waiting;
    EXPECT_FALSE(*moved);
    place = std::make_unique<weir::reservation>(bucket.reserve().value());
    auto again = weir::spawn(wait(), {.start = weir::start::eager});
    place.reset();
    WEIR_EXPECT_THROW_WITH(std::move(again), weir::invalid_state, "used or cancelled");
    EXPECT_EQ(bucket.stats().waiting, 0u);
}

// Its turn has come, and it is destroyed before the waiting fiber has run.
WEIR_TEST(Reservation, MayBeDestroyedWhenItsTurnHasJustCome) {
    weir::token_bucket bucket({.rate = 1});
    EXPECT_TRUE(bucket.try_acquire());
    auto first = bucket.reserve().value();
    auto place = std::make_unique<weir::reservation>(bucket.reserve().value());
    auto wait = [&]() -> task<> { co_await place->wait(); };
    auto waiting = weir::spawn(wait(), {.start = weir::start::eager});
    co_await weir::sleep(1s);
    while (!first.is_due()) {
        co_await weir::yield();
    }
    first.cancel();  // gives back what lets the other one through
    EXPECT_TRUE(place->is_due());
    place.reset();
    WEIR_EXPECT_THROW_WITH(std::move(waiting), weir::invalid_state, "used or cancelled");
    EXPECT_EQ(bucket.stats().granted, 1u);
}

WEIR_TEST(Reservation, AWaiterLearnsThatItWasUsed) {
    weir::token_bucket bucket({.rate = 1});
    EXPECT_TRUE(bucket.try_acquire());
    auto place = bucket.reserve().value();
    auto wait = [&]() -> task<> { co_await place.wait(); };
    auto waiting = weir::spawn(wait(), {.start = weir::start::eager});
    place.use();
    WEIR_EXPECT_THROW_WITH(std::move(waiting), weir::invalid_state, "used or cancelled");
}

TEST(Reservation, OutlivesALoopThatHasEnded) {
    weir::token_bucket bucket({.rate = 1});
    std::optional<weir::reservation> place;
    auto reserve = [&]() -> task<> {
        EXPECT_TRUE(bucket.try_acquire());
        place.emplace(bucket.reserve().value());
        co_return;
    };
    weir::run(reserve(), {.driver = weir::driver_kind::simulated});
    place.reset();
    auto use = [&]() -> task<> {
        co_await bucket.acquire();
        co_await bucket.acquire();
    };
    weir::run(use(), {.driver = weir::driver_kind::simulated});
    EXPECT_EQ(bucket.stats().waiting, 0u);
}

}  // namespace
