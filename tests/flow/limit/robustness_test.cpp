// SPDX-License-Identifier: MIT
// Limiters in unusual company: changed while somebody is on its way, told of things twice or from
// afar, with extreme figures.

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
using weir::handle;
using weir::task;
using weir::testing::settle_all;

constexpr auto completion = weir::decision::measured_from::completion;

// Let through, and stopped before it went on; in between the interval has changed.
TEST(LimiterRobustness, ATurnThatWasNeverUsedEndsWhateverTheIntervalIsNow) {
    weir::decision::spacing pace({.interval = 100ms, .from = completion});
    const weir::clock::time_point begin(1h);
    EXPECT_TRUE(pace.try_take(begin).granted);
    pace.set_rate(begin, {.interval = 50ms, .from = completion});
    pace.give_back(begin, 1, begin);
    EXPECT_NE(pace.try_take(begin).wait, weir::decision::verdict::unforeseen);
}

WEIR_TEST(LimiterRobustness, WhoWaitsForAReservationLearnsThatItWasCancelled) {
    weir::token_bucket bucket({.rate = 1});
    EXPECT_TRUE(bucket.try_acquire());
    auto place = bucket.reserve().value();
    auto wait = [&]() -> task<> { co_await place.wait(); };
    auto waiting = weir::spawn(wait(), {.start = weir::start::eager});
    place.cancel();
    WEIR_EXPECT_THROW_WITH(std::move(waiting), weir::invalid_state, "used or cancelled");
}

WEIR_TEST(LimiterRobustness, AReservationMayMoveOrGoWhileItIsAwaited) {
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

// Its turn has come, and it goes before the one who waits has run.
WEIR_TEST(LimiterRobustness, AReservationMayGoWhenItsTurnHasJustCome) {
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

WEIR_TEST(LimiterRobustness, WhoWaitsForAReservationLearnsThatItWasUsed) {
    weir::token_bucket bucket({.rate = 1});
    EXPECT_TRUE(bucket.try_acquire());
    auto place = bucket.reserve().value();
    auto wait = [&]() -> task<> { co_await place.wait(); };
    auto waiting = weir::spawn(wait(), {.start = weir::start::eager});
    place.use();
    WEIR_EXPECT_THROW_WITH(std::move(waiting), weir::invalid_state, "used or cancelled");
}

TEST(LimiterRobustness, AReservationOutlivesItsLoop) {
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

TEST(LimiterRobustness, ATurnThatOutlivesItsLoopHasEnded) {
    weir::leaky_bucket pace({.interval = 100ms, .from = completion});
    std::optional<weir::leaky_bucket::pass> turn;
    auto begin = [&]() -> task<> { turn.emplace(co_await pace.acquire()); };
    weir::run(begin(), {.driver = weir::driver_kind::simulated});
    turn.reset();
    auto use = [&]() -> task<> {
        const auto in = co_await pace.admit();
        EXPECT_TRUE(in);
    };
    weir::run(use(), {.driver = weir::driver_kind::simulated});
}

// A rate that is set again and again, as a controller does, does not keep the window from ending.
WEIR_TEST(LimiterRobustness, SettingTheSameRateChangesNothing) {
    weir::fixed_window fixed({.limit = 2});
    weir::sliding_window_counter counter({.limit = 2, .strict = true});
    EXPECT_TRUE(fixed.try_acquire(2));
    EXPECT_TRUE(counter.try_acquire(2));
    for (int i = 0; i < 30; ++i) {
        co_await weir::sleep(100ms);
        fixed.set_rate({.limit = 2});
        counter.set_rate({.limit = 2, .strict = true});
    }
    EXPECT_TRUE(fixed.try_acquire());
    EXPECT_TRUE(counter.try_acquire());
}

WEIR_TEST(LimiterRobustness, ALineThatIsLongerThanTheClockIsPlanned) {
    weir::token_bucket bucket({.rate = 1, .per = 24h * 365, .burst = 8});
    EXPECT_TRUE(bucket.try_acquire(8));
    std::vector<weir::reservation> places;
    for (int i = 0; i < 200; ++i) {
        places.push_back(bucket.reserve(8).value());
        EXPECT_GE(places.back().when(), places[0].when());
        EXPECT_GE(bucket.retry_after(8), 24h * 365);
    }
    EXPECT_GE(places.back().when() - weir::now(), 24h * 365 * 20);
    co_return;
}

WEIR_TEST(LimiterRobustness, ALongLineIsRevisedAtOnce) {
    weir::token_bucket bucket({.rate = 1'000'000, .max_wait = 1s});
    weir::sliding_window window({.limit = 10, .max_wait = 100s});
    EXPECT_TRUE(bucket.try_acquire());
    EXPECT_TRUE(window.try_acquire(10));
    std::vector<weir::reservation> places;
    for (int i = 0; i < 20'000; ++i) {
        places.push_back(bucket.reserve().value());
    }
    bucket.set_rate({.rate = 1000});
    EXPECT_EQ(bucket.stats().waiting, 1000u);
    EXPECT_EQ(places[999].when() - weir::now(), 1s);
    EXPECT_FALSE(places[1000].is_due());
    EXPECT_EQ(places[1000].when(), weir::clock::time_point::max());
    std::vector<weir::reservation> others;
    for (int i = 0; i < 1000; ++i) {
        others.push_back(window.reserve().value());
    }
    window.set_rate({.limit = 5});
    EXPECT_EQ(window.stats().waiting, 500u);
    co_return;
}

}  // namespace
