// SPDX-License-Identifier: MIT
// The limiters other than the token bucket by example; and what all of them have in common.

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

WEIR_TEST(SlidingWindow, ServesInOrderAsOldGrantsLeave) {
    weir::sliding_window window({.limit = 3});
    const auto begin = weir::now();
    std::vector<duration> times;
    for (int i = 0; i < 8; ++i) {
        co_await window.acquire();
        times.push_back(weir::now() - begin);
        co_await weir::sleep(100ms);
    }
    const std::vector<duration> expected = {0ms,    100ms,  200ms,  1000ms,
                                            1100ms, 1200ms, 2000ms, 2100ms};
    EXPECT_EQ(times, expected);
}

WEIR_TEST(SlidingWindow, RetryAfterKnowsTheLine) {
    weir::sliding_window window({.limit = 2});
    EXPECT_TRUE(window.try_acquire(2));
    std::vector<weir::handle<void>> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(weir::spawn([&]() -> task<> { co_await window.acquire(); }));
    }
    co_await settle_all();
    EXPECT_EQ(window.retry_after(), 2s);   // two go in a second; it is the second of the next two
    EXPECT_EQ(window.retry_after(2), 3s);  // and these do not fit beside the third
    for (const auto& each : waiting) {
        co_await each;
    }
}

WEIR_TEST(FixedWindow, BeginsAgain) {
    weir::fixed_window window({.limit = 2, .window = 10s});
    const auto begin = weir::now();
    for (int i = 0; i < 7; ++i) {
        co_await window.acquire();
        EXPECT_EQ(weir::now() - begin, i / 2 * 10s);
    }
}

WEIR_TEST(SlidingCounter, WeighsTheStretchBefore) {
    weir::sliding_window_counter window({.limit = 10, .window = 10s});
    EXPECT_TRUE(window.try_acquire(10));
    co_await weir::sleep(15s);  // half of the ten still count
    EXPECT_TRUE(window.try_acquire(5));
    const auto refused = window.try_acquire();
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().retry_after, 1s);
}

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
    EXPECT_EQ(meanwhile.refusal().retry_after, 0ns);  // nobody knows
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
    std::vector<std::string> told;
    auto use = [&](int who) -> task<> {
        const auto in = co_await bucket.admit();
        told.push_back(std::to_string(who) + (in ? " went" : " was refused"));
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
    EXPECT_EQ(told, expected);
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
    weir::run(use(), {.driver = weir::driver_kind::simulated});  // on another, when nobody waits
    EXPECT_EQ(bucket.stats().granted, 6u);
}

}  // namespace
