// SPDX-License-Identifier: MIT
// The leaky bucket by example.

#include "support.hpp"

#include <weir/error.hpp>
#include <weir/flow/decision/locked.hpp>
#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

namespace {

using namespace limiter_tests;
using weir::refusal_reason;
using weir::task;
using weir::decision::measured_from;
using weir::testing::settle_all;

static_assert(weir::waiting_gate<weir::sliding_window>);
static_assert(weir::waiting_gate<weir::sliding_window_counter>);
static_assert(weir::waiting_gate<weir::fixed_window>);
static_assert(weir::waiting_gate<weir::leaky_bucket>);

using namespace std::chrono_literals;

static_assert(std::is_trivially_destructible_v<weir::sliding_window_options>);
static_assert(std::is_trivially_destructible_v<weir::sliding_window_counter_options>);
static_assert(std::is_trivially_destructible_v<weir::fixed_window_options>);
static_assert(std::is_trivially_destructible_v<weir::leaky_bucket_options>);

WEIR_TEST(LeakyBucket, SpacesFromTheStart) {
    weir::leaky_bucket pace({.interval = 100ms});
    const auto begin = weir::now();
    for (int i = 0; i < 5; ++i) {
        auto turn = co_await pace.acquire();
        EXPECT_EQ(weir::now() - begin, i * 100ms);
        EXPECT_EQ(turn.waited, i == 0 ? 0ms : 70ms);
        co_await weir::sleep(30ms);
    }
}

WEIR_TEST(LeakyBucket, SpacesFromTheEnd) {
    weir::leaky_bucket pace({.interval = 100ms, .from = measured_from::completion});
    const auto begin = weir::now();
    for (int i = 0; i < 5; ++i) {
        auto turn = co_await pace.acquire();
        EXPECT_EQ(weir::now() - begin, i * 130ms);
        co_await weir::sleep(30ms);
    }
    auto turn = co_await pace.acquire();
    const auto meanwhile = pace.try_acquire();
    WEIR_ASSERT_FALSE(meanwhile);
    EXPECT_EQ(meanwhile.refusal().retry_after, 0ns);  // unknown
    EXPECT_EQ(pace.retry_after(), weir::refusal::never);
    turn.done();
    const auto after = pace.try_acquire();
    EXPECT_EQ(after.refusal().retry_after, 100ms);
}

WEIR_TEST(LeakyBucket, AStoppedCallHasEnded) {
    weir::leaky_bucket pace({.interval = 100ms, .from = measured_from::completion});
    const auto begin = weir::now();
    auto hang = []() -> task<> { co_await weir::sleep_forever(); };
    const auto stuck = weir::spawn([&]() -> task<> { co_await pace.run(hang); });
    co_await settle_all();
    const auto next = weir::spawn([&]() -> task<> { static_cast<void>(co_await pace.acquire()); });
    co_await weir::sleep(1s);
    EXPECT_FALSE(next.done());
    stuck.cancel();
    co_await stuck.wait();
    co_await next;
    EXPECT_EQ(weir::now() - begin, 1100ms);
}

WEIR_TEST(LeakyBucket, MaxWaitHoldsWhereNothingCanBeForeseen) {
    weir::leaky_bucket pace({.interval = 100ms, .from = measured_from::completion, .max_wait = 5s});
    auto endless = co_await pace.acquire();
    const auto begin = weir::now();
    const auto refused = co_await pace.admit();
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(weir::now() - begin, 5s);
}

template <class Options>
std::string complaint(const Options& options) {
    try {
        const typename Options::policy_type made(options);
        return "none";
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
}

TEST(LeakyBucket, RefusesInvalidOptions) {
    for (const auto bad : {-1ns, 0ns, weir::clock::duration::max()}) {
        EXPECT_NE(complaint(weir::leaky_bucket_options{.interval = bad}).find("interval is"),
                  std::string::npos);
    }
    EXPECT_EQ(complaint(weir::leaky_bucket_options{.interval = 1ns}), "none");
    EXPECT_EQ(complaint(weir::leaky_bucket_options{.interval = 366 * 24h}), "none");
    EXPECT_NE(complaint(weir::leaky_bucket_options{.interval = 366 * 24h + 1ns}), "none");
}

constexpr auto completion = weir::decision::measured_from::completion;

// Let through, and stopped before it went on; in between the interval has changed.
TEST(LeakyBucket, ATurnThatWasNeverUsedEndsWhateverTheIntervalIsNow) {
    weir::decision::spacing pace({.interval = 100ms, .from = completion});
    const weir::clock::time_point begin(1h);
    EXPECT_TRUE(pace.try_take(begin).granted);
    pace.set_rate(begin, {.interval = 50ms, .from = completion});
    pace.give_back(begin, 1, begin);
    EXPECT_NE(pace.try_take(begin).wait, weir::decision::verdict::unforeseen);
}

TEST(LeakyBucket, ATurnThatOutlivesItsLoopHasEnded) {
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

}  // namespace
