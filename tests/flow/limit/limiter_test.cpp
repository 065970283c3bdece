// SPDX-License-Identifier: MIT
// The properties that all limiters share: run and settle, shared decisions, changes of the rate,
// metrics, events.

#include "support.hpp"

#include <weir/flow/decision/locked.hpp>
#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <memory>
#include <optional>

namespace {

using namespace limiter_tests;
using weir::task;
using weir::testing::settle_all;

static_assert(weir::waiting_gate<weir::sliding_window>);
static_assert(weir::waiting_gate<weir::sliding_window_counter>);
static_assert(weir::waiting_gate<weir::fixed_window>);
static_assert(weir::waiting_gate<weir::leaky_bucket>);

using namespace std::chrono_literals;

WEIR_TEST(Limiter, RunsAndSettles) {
    weir::token_bucket bucket({.rate = 1, .burst = 1, .max_waiting = 0, .name = "mail"});
    auto work = []() -> task<int> {
        co_await weir::sleep(1ms);
        co_return 7;
    };
    const int first = co_await bucket.run(work);
    EXPECT_EQ(first, 7);
    WEIR_EXPECT_THROW_WITH(bucket.run(work), weir::refused, "mail: the rate limit is reached");
    const auto second = co_await bucket.settle(work);
    EXPECT_TRUE(second.is_refused());
    co_await weir::sleep(1s);
    const auto third = co_await bucket.settle([] { return 3; });
    EXPECT_EQ(third.value(), 3);
    EXPECT_EQ(bucket.stats().granted, 2u);
    EXPECT_EQ(bucket.stats().refused, 2u);
}

WEIR_TEST(Limiter, InAPipeline) {
    auto api = weir::pipeline("api", weir::sliding_window_options{.limit = 2});
    const auto begin = weir::now();
    auto when = [&] { return weir::now() - begin; };
    for (int i = 0; i < 5; ++i) {
        const auto at = co_await api.run(when);
        EXPECT_EQ(at, std::chrono::seconds(i / 2));
    }
}

// One bucket for two limiters, as on two loops: together no more than one alone.
WEIR_TEST(Limiter, SharesADecision) {
    const auto shared =
        std::make_shared<weir::decision::gcra>(weir::decision::gcra_limits{.rate = 10, .burst = 2});
    weir::token_bucket one(shared, {});
    weir::token_bucket other(shared, {});
    std::vector<grant> grants;
    auto use = [&](weir::token_bucket& bucket) -> task<> {
        for (int i = 0; i < 20; ++i) {
            co_await bucket.acquire();
            grants.push_back({weir::now()});
        }
    };
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        group.spawn(use, std::ref(one));
        group.spawn(use, std::ref(other));
        co_return;
    });
    EXPECT_EQ(grants.size(), 40u);
    EXPECT_EQ(exceeds_bucket(grants, 10, 1s, 2), std::nullopt);
    EXPECT_EQ(grants.back().when - grants.front().when, 3800ms);
}

WEIR_TEST(Limiter, AnyDecisionCanBeSharedBehindALock) {
    using strict = weir::decision::locked<weir::decision::sliding_log>;
    const auto shared = std::make_shared<strict>(weir::decision::window_limits{.limit = 2});
    weir::limiter<strict> one(shared, {});
    weir::limiter<strict> other(shared, {});
    EXPECT_TRUE(one.try_acquire());
    EXPECT_TRUE(other.try_acquire());
    EXPECT_FALSE(one.try_acquire());
    const auto waited = co_await other.acquire();
    EXPECT_EQ(waited, 1s);
}

WEIR_TEST(Limiter, ALowerRateTellsThoseWhoCannotWaitThatLong) {
    weir::testing::in_ordinary_order();
    weir::token_bucket bucket({.rate = 1, .burst = 1, .max_wait = 4s});
    EXPECT_TRUE(bucket.try_acquire());
    std::vector<std::string> results;
    auto use = [&](int caller) -> task<> {
        const auto in = co_await bucket.admit();
        results.push_back(std::to_string(caller) + (in ? " went" : " was refused"));
    };
    std::vector<weir::handle<void>> users;
    for (int i = 1; i <= 3; ++i) {
        users.push_back(weir::spawn(use(i)));
    }
    co_await settle_all();
    bucket.set_rate({.rate = 0.4});
    for (const auto& each : users) {
        co_await each;
    }
    const std::vector<std::string> expected = {"2 was refused", "3 was refused", "1 went"};
    EXPECT_EQ(results, expected);
}

WEIR_TEST(Limiter, WritesMetrics) {
    weir::token_bucket bucket({.rate = 1, .burst = 1, .name = "mail"});
    EXPECT_TRUE(bucket.try_acquire());
    EXPECT_FALSE(bucket.try_acquire());
    co_await bucket.acquire();
    weir::prometheus_writer page;
    bucket.write_metrics(page);
    const std::string text = page.text();
    EXPECT_NE(text.find("weir_limiter_granted_total{kind=\"token_bucket\",name=\"mail\"} 2"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("weir_limiter_wait_seconds_total{kind=\"token_bucket\",name=\"mail\"} 1"),
              std::string::npos);
}

class listener final : public weir::observer {
public:
    void on_event(const weir::flow_event& event) noexcept override {
        heard.push_back(std::string(event.name) + ": " + std::string(event.what));
    }
    std::vector<std::string> heard;
};

WEIR_TEST(Limiter, TellsItsObserver) {
    listener ear;
    weir::token_bucket bucket({.rate = 1,
                               .max_waiting = 1,
                               .when_full = weir::when_full::displace_oldest,
                               .name = "mail",
                               .observer = &ear});
    EXPECT_TRUE(bucket.try_acquire());
    auto old = bucket.reserve().value();
    auto young = bucket.reserve().value();
    bucket.set_rate({.rate = 2});
    const std::vector<std::string> expected = {"mail: displaced", "mail: rate changed"};
    EXPECT_EQ(ear.heard, expected);
    co_return;
}

TEST(Limiter, BelongsToOneLoopAtATime) {
    weir::token_bucket bucket({.rate = 1});
    auto use = [&]() -> task<> {
        for (int i = 0; i < 3; ++i) {
            co_await bucket.acquire();
        }
    };
    weir::run(use(), {.driver = weir::driver_kind::simulated});
    weir::run(use(), {.driver = weir::driver_kind::simulated});  // on another, when no task waits
    EXPECT_EQ(bucket.stats().granted, 6u);
}

// A rate that is set again and again, as a controller does, does not keep the window from ending.
WEIR_TEST(Limiter, SettingTheSameRateChangesNothing) {
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

WEIR_TEST(Limiter, ALineThatIsLongerThanTheClockIsPlanned) {
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

WEIR_TEST(Limiter, ALongLineIsRevisedAtOnce) {
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

// What waits, and how much of it, as it comes and goes.
WEIR_TEST(Limiter, KnowsTheWeightThatWaits) {
    weir::token_bucket bucket({.rate = 1, .burst = 5});
    EXPECT_TRUE(bucket.try_acquire(5));
    auto wait = [&](double weight) -> task<> { co_await bucket.acquire(weight); };
    auto first = weir::spawn(wait(0.5));
    co_await settle_all();
    auto second = weir::spawn(wait(2));
    co_await settle_all();
    auto third = weir::spawn(wait(3));
    co_await settle_all();
    EXPECT_EQ(bucket.stats().waiting, 3u);
    EXPECT_EQ(bucket.stats().weight_waiting, 5.5);
    second.cancel();
    co_await second.wait();
    EXPECT_EQ(bucket.stats().weight_waiting, 3.5);
    EXPECT_EQ(bucket.stats().cancelled, 1u);
    co_await first;
    EXPECT_EQ(bucket.stats().weight_waiting, 3);
    co_await third;
    EXPECT_EQ(bucket.stats().waiting, 0u);
    EXPECT_EQ(bucket.stats().weight_waiting, 0);
    EXPECT_EQ(bucket.stats().granted, 3u);
    EXPECT_EQ(bucket.stats().waited, 2u);
    EXPECT_EQ(bucket.stats().time_waited, 500ms + 3500ms);
}

}  // namespace
