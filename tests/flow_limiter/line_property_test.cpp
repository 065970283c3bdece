// SPDX-License-Identifier: MIT
// Limiters under random traffic, with random cancellation: what is granted to whom, and when, is to the
// nanosecond what a plain model says. That is everything at once: never more than the limit, never less than
// it allows, in order, no drift, and no trace of those who were cancelled.

#include "naive_limiters.hpp"
#include "support.hpp"

#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>
#include <weir/testing/testing.hpp>

namespace {

using namespace limiter_tests;
using weir::handle;
using weir::task;

// Plays the traffic against anything with acquire(weight), and gives what was granted.
template <class Limiter>
task<std::vector<grant>> play(Limiter& limiter, const std::vector<event>& traffic) {
    std::vector<grant> grants;
    std::vector<handle<void>> callers;
    auto call = [&](int who, double weight) -> task<> {
        static_cast<void>(co_await limiter.acquire(weight));
        grants.push_back({weir::now(), weight, who});
    };
    for (const event& each : traffic) {
        if (each.after > 0ns) {
            co_await weir::sleep(each.after);
        }
        if (each.cancels) {
            callers[static_cast<std::size_t>(each.who)].cancel();
        } else {
            callers.push_back(
                weir::spawn(call(each.who, each.weight), {.start = weir::start::eager}));
        }
    }
    for (const auto& each : callers) {
        co_await each.wait();
    }
    // Who comes in the nanosecond in which another is let through may well run before that one does.
    std::sort(grants.begin(), grants.end(), [](const grant& one, const grant& other) {
        return std::pair(one.when, one.who) < std::pair(other.when, other.who);
    });
    co_return grants;
}

template <class Model>
std::vector<grant> foresee(Model model, time_point now, const std::vector<event>& traffic) {
    line_model<Model> line(std::move(model));
    for (const event& each : traffic) {
        now += each.after;
        if (each.cancels) {
            line.cancel(now, each.who);
        } else {
            line.arrive(now, each.who, each.weight);
        }
    }
    line.advance(now + std::chrono::hours(24 * 365));
    return line.grants();
}

std::vector<grant> run_on_loop(const std::function<task<std::vector<grant>>()>& body) {
    return weir::run(body(), {.driver = weir::driver_kind::simulated});
}

constexpr int traces = 1500;

TEST(LimiterProperty, TokenBucketIsItsModel) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        constexpr std::int64_t rates[] = {1, 3, 7, 10, 333, 1000, 77'777};
        const std::int64_t rate = rates[random() % std::size(rates)];
        const double burst = static_cast<double>(1 + random() % 8);
        const duration pause(1'000'000'000 / rate);
        const auto traffic =
            random_traffic(random, 60, pause, burst, rate < 1000 && random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::token_bucket bucket({.rate = static_cast<double>(rate), .burst = burst});
            expected = foresee(bucket_model(rate, 1s, burst), weir::now(), traffic);
            auto seen = co_await play(bucket, traffic);
            EXPECT_EQ(bucket.stats().waiting, 0u);
            EXPECT_EQ(bucket.stats().granted, seen.size());
            co_return seen;
        });
        // Where a token takes no whole number of nanoseconds, the model loses up to one at each grant.
        const duration tolerance = 1'000'000'000 % rate == 0 ? 0ns : 60ns;
        ASSERT_EQ(differs(grants, expected, tolerance), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_bucket(grants, static_cast<double>(rate), 1s, burst), std::nullopt);
        ASSERT_EQ(out_of_order(grants), std::nullopt);
    }
}

TEST(LimiterProperty, SlidingWindowIsItsModel) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 8);
        const auto traffic = random_traffic(random, 50, 200ms, limit, random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::sliding_window window({.limit = limit});
            expected = foresee(window_model(limit, 1s), weir::now(), traffic);
            auto seen = co_await play(window, traffic);
            co_return seen;
        });
        ASSERT_EQ(differs(grants, expected), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(grants, limit, 1s), std::nullopt);
    }
}

TEST(LimiterProperty, FixedWindowIsItsModel) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 8);
        const auto traffic = random_traffic(random, 50, 200ms, limit, random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::fixed_window window({.limit = limit});
            expected = foresee(fixed_model(limit, 1s), weir::now(), traffic);
            auto seen = co_await play(window, traffic);
            co_return seen;
        });
        ASSERT_EQ(differs(grants, expected), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(grants, 2 * limit, 1s), std::nullopt);
    }
}

TEST(LimiterProperty, LeakyBucketIsItsModel) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        const auto traffic = random_traffic(random, 50, 100ms, 3, random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::leaky_bucket bucket({.interval = 100ms});
            expected = foresee(spacing_model(100ms), weir::now(), traffic);
            auto seen = co_await play(bucket, traffic);
            co_return seen;
        });
        ASSERT_EQ(differs(grants, expected), std::nullopt) << "seed " << seed;
    }
}

TEST(LimiterProperty, SlidingCounterKeepsItsBounds) {
    for (std::uint64_t seed = 1; seed <= traces; ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 8);
        const bool strict = random() % 2 == 0;
        const auto traffic = random_traffic(random, 50, 200ms, limit, random() % 2 == 0, 5);
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            weir::sliding_window_counter window({.limit = limit, .strict = strict});
            auto seen = co_await play(window, traffic);
            EXPECT_EQ(window.stats().granted, seen.size());
            co_return seen;
        });
        ASSERT_EQ(exceeds_window(grants, strict ? limit : 2 * limit, 1s), std::nullopt)
            << "seed " << seed;
        ASSERT_EQ(out_of_order(grants), std::nullopt) << "seed " << seed;
    }
}

// ---- the properties have teeth

template <class Naive, class Check>
bool is_caught(const auto& make, double most, Check check) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        const auto traffic = random_traffic(random, 60, 50ms, most, false, 0);
        const auto grants = run_on_loop([&]() -> task<std::vector<grant>> {
            Naive limiter = make();
            auto seen = co_await play(limiter, traffic);
            co_return seen;
        });
        if (check(grants)) {
            return true;
        }
    }
    return false;
}

TEST(LimiterProperty, CatchesABucketThatSleepsOnce) {
    EXPECT_TRUE(is_caught<naive::sleeps_once_bucket>(
        [] { return naive::sleeps_once_bucket(10, 2); }, 1,
        [](const auto& grants) { return exceeds_bucket(grants, 10, 1s, 2).has_value(); }));
}

TEST(LimiterProperty, CatchesABucketThatWakesAll) {
    EXPECT_TRUE(is_caught<naive::all_wake_bucket>(
        [] { return naive::all_wake_bucket(10, 5); }, 5,
        [](const auto& grants) { return out_of_order(grants).has_value(); }));
}

TEST(LimiterProperty, CatchesAWindowThatAppendsUnchecked) {
    EXPECT_TRUE(is_caught<naive::appends_unchecked_window>(
        [] { return naive::appends_unchecked_window(3, 1s); }, 1,
        [](const auto& grants) { return exceeds_window(grants, 3, 1s).has_value(); }));
}

}  // namespace
