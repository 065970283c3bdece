// SPDX-License-Identifier: MIT
// Newest first: the order, which waiter is refused, and the same results as a simple model.

#include "support.hpp"

#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

namespace {

using namespace limiter_tests;
using weir::handle;
using weir::refusal_reason;
using weir::task;
using weir::testing::settle_all;

constexpr auto newest_first = weir::queue_order::newest_first;

task<weir::admission<weir::let_through>> ask(weir::token_bucket& bucket, double weight = 1) {
    auto in = co_await bucket.admit(weight);
    co_return in;
}

// The order in which requests are admitted that arrive one after the other at an empty bucket.
template <class Limiter>
task<std::string> order_of(Limiter& limiter, int count) {
    auto taken = co_await limiter.admit();
    std::string order;
    auto use = [&](int caller) -> task<> {
        auto in = co_await limiter.acquire();
        static_cast<void>(in);
        order += static_cast<char>('a' + caller);
    };
    std::vector<handle<void>> users;
    for (int i = 0; i < count; ++i) {
        users.push_back(weir::spawn(use(i), {.start = weir::start::eager}));
    }
    taken = weir::refusal{};
    for (const auto& each : users) {
        co_await each;
    }
    co_return order;
}

WEIR_TEST(QueueOrder, EveryLimiterServesTheLastToComeFirst) {
    weir::token_bucket bucket({.rate = 10, .order = newest_first});
    weir::sliding_window window({.limit = 1, .order = newest_first});
    weir::sliding_window_counter counter({.limit = 1, .order = newest_first});
    weir::fixed_window fixed({.limit = 1, .order = newest_first});
    weir::leaky_bucket leaky({.interval = 1s, .order = newest_first});
    weir::leaky_bucket in_turn(
        {.interval = 1s, .from = weir::decision::measured_from::completion, .order = newest_first});
    const auto by_bucket = co_await order_of(bucket, 4);
    EXPECT_EQ(by_bucket, "dcba");
    const auto by_window = co_await order_of(window, 4);
    EXPECT_EQ(by_window, "dcba");
    const auto by_counter = co_await order_of(counter, 4);
    EXPECT_EQ(by_counter, "dcba");
    const auto by_fixed = co_await order_of(fixed, 4);
    EXPECT_EQ(by_fixed, "dcba");
    const auto by_leaky = co_await order_of(leaky, 4);
    EXPECT_EQ(by_leaky, "dcba");
    const auto by_turns = co_await order_of(in_turn, 4);
    EXPECT_EQ(by_turns, "dcba");
}

WEIR_TEST(QueueOrder, TheNewestDoesNotWaitForThoseWhoWaitForMore) {
    weir::token_bucket bucket({.rate = 1, .burst = 5, .order = newest_first});
    EXPECT_TRUE(bucket.try_acquire(5));
    const auto begin = weir::now();
    auto large = weir::spawn(ask(bucket, 5));
    co_await settle_all();
    co_await weir::sleep(2s);
    EXPECT_EQ(bucket.retry_after(1), 0s);
    EXPECT_EQ(bucket.retry_after(3), 1s);
    EXPECT_TRUE(bucket.try_acquire(1));
    const auto refused = bucket.try_acquire(3);
    WEIR_ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().retry_after, 2s);  // no task is ahead of it
    auto waited = co_await large;
    EXPECT_EQ(waited.pass().waited, 6s);
    EXPECT_EQ(weir::now() - begin, 6s);
}

WEIR_TEST(QueueOrder, WhoIsOvertakenIsRefusedWhenItsTimeIsOver) {
    weir::token_bucket bucket({.rate = 1, .order = newest_first, .max_wait = 2500ms});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto old = weir::spawn(ask(bucket), {.start = weir::start::eager});
    std::vector<handle<weir::admission<weir::let_through>>> newer;
    co_await weir::sleep_until(begin + 500ms);
    for (int i = 0; i < 3; ++i) {  // they pass after 1, 2 and 3 s
        newer.push_back(weir::spawn(ask(bucket), {.start = weir::start::eager}));
    }
    const auto overtaken = co_await old;
    WEIR_ASSERT_FALSE(overtaken);
    EXPECT_EQ(overtaken.refusal().reason, refusal_reason::wait_too_long);
    EXPECT_EQ(overtaken.refusal().retry_after, 500ms);
    EXPECT_EQ(weir::now() - begin, 2500ms);  // not only when the next one passes
    for (const auto& each : newer) {
        const auto in = co_await each;
        EXPECT_TRUE(in);
    }
    EXPECT_EQ(bucket.stats().refused, 1u);
    EXPECT_EQ(bucket.stats().waiting, 0u);
}

WEIR_TEST(QueueOrder, TheOldestIsDisplaced) {
    weir::token_bucket bucket({.rate = 1,
                               .max_waiting = 2,
                               .when_full = weir::when_full::displace_oldest,
                               .order = newest_first});
    EXPECT_TRUE(bucket.try_acquire());
    std::vector<handle<weir::admission<weir::let_through>>> calls;
    for (int i = 0; i < 4; ++i) {
        calls.push_back(weir::spawn(ask(bucket), {.start = weir::start::eager}));
    }
    EXPECT_EQ(bucket.stats().displaced, 2u);
    for (std::size_t i = 0; i < 4; ++i) {
        auto in = co_await calls[i];
        EXPECT_EQ(in.has_value(), i >= 2);
        EXPECT_TRUE(in || in.refusal().reason == refusal_reason::displaced);
        EXPECT_TRUE(!in || in.pass().waited == (i == 3 ? 1s : 2s));
    }
}

WEIR_TEST(QueueOrder, AReservationIsPutBackByThoseWhoComeLater) {
    weir::token_bucket bucket({.rate = 1, .order = newest_first});
    EXPECT_TRUE(bucket.try_acquire());
    const auto begin = weir::now();
    auto first = bucket.reserve();
    auto second = bucket.reserve();
    EXPECT_EQ(first.pass().when() - begin, 2s);
    EXPECT_EQ(second.pass().when() - begin, 1s);
    second.pass().cancel();
    EXPECT_EQ(first.pass().when() - begin, 1s);
    const auto waited = co_await first.pass().wait();
    EXPECT_EQ(waited, 1s);
}

TEST(QueueOrder, IsItsModel) {
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 8);
        const auto traffic = random_traffic(random, 50, 200ms, limit, random() % 2 == 0, 5);
        std::vector<grant> expected;
        std::vector<grant> grants;
        auto body = [&]() -> task<> {
            weir::sliding_window window({.limit = limit, .order = newest_first});
            line_model line(window_model(limit, 1s), true);
            time_point now = weir::now();
            std::vector<handle<void>> callers;
            auto call = [&](int caller, double weight) -> task<> {
                static_cast<void>(co_await window.acquire(weight));
                grants.push_back({weir::now(), weight, caller});
            };
            for (const event& each : traffic) {
                now += each.after;
                if (each.after > 0ns) {
                    co_await weir::sleep(each.after);
                }
                if (each.cancels) {
                    line.cancel(now, each.who);
                    callers[static_cast<std::size_t>(each.who)].cancel();
                } else {
                    line.arrive(now, each.who, each.weight);
                    callers.push_back(
                        weir::spawn(call(each.who, each.weight), {.start = weir::start::eager}));
                }
            }
            for (const auto& each : callers) {
                co_await each.wait();
            }
            line.advance(now + std::chrono::hours(24 * 365));
            expected = line.grants();
        };
        weir::run(body(), {.driver = weir::driver_kind::simulated});
        const auto in_time = [](const grant& one, const grant& other) {
            return std::pair(one.when, one.who) < std::pair(other.when, other.who);
        };
        std::sort(grants.begin(), grants.end(), in_time);
        std::sort(expected.begin(), expected.end(), in_time);
        ASSERT_EQ(differs(grants, expected), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(grants, limit, 1s), std::nullopt);
    }
}

}  // namespace
