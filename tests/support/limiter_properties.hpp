// SPDX-License-Identifier: MIT
// The tests that put models, properties and traffic together, for limiters of one process and for
// those that many share: is_token_bucket and is_sliding_window for limiters, names_exact_waits for
// decisions.
#pragma once

#include <support/limiter_models.hpp>

#include <weir/flow/decision/limiter_decision.hpp>
#include <weir/run.hpp>
#include <weir/spawn.hpp>
#include <weir/time.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace limiter_tests {

// ---- limiters

// Plays the traffic against any limiter with acquire(weight), and returns the grants; with
// `own_clock`, their times are those of the limiter's clock.
template <class Limiter, bool own_clock = false>
weir::task<std::vector<grant>> play(Limiter& limiter, const std::vector<event>& traffic) {
    std::vector<grant> grants;
    std::vector<weir::handle<void>> callers;
    auto call = [&](int who, double weight) -> weir::task<> {
        if constexpr (own_clock) {
            auto in = co_await limiter.admit(weight);
            if (in) {
                grants.push_back(
                    {time_point(duration(in.pass().at.time_since_epoch())), weight, who});
            }
        } else {
            static_cast<void>(co_await limiter.acquire(weight));
            grants.push_back({weir::now(), weight, who});
        }
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
    // A task that arrives in the nanosecond of another's grant may run before that one does.
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

inline std::vector<grant> run_on_loop(const std::function<weir::task<std::vector<grant>>()>& body) {
    return weir::run(body(), {.driver = weir::driver_kind::simulated});
}

// Under random traffic with random cancellation, the grants, their owners and their times are those
// of a plain model: never more than the limit, never less than it allows, in order, no drift, and
// no effect of cancelled tasks. Make returns a limiter for a rate and a burst, or for a limit each
// second; the limiter is destroyed on the loop.
template <class Make>
void is_token_bucket(int traces, const Make& make, duration coarse = {}) {
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(traces); ++seed) {
        std::mt19937_64 random(seed);
        constexpr std::int64_t rates[] = {1, 3, 7, 10, 333, 1000, 77'777};
        const std::int64_t rate = rates[random() % std::size(rates)];
        const double burst = static_cast<double>(1 + random() % 8);
        const duration pause(1'000'000'000 / rate);
        const auto traffic =
            random_traffic(random, 60, pause, burst, rate < 1000 && random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> weir::task<std::vector<grant>> {
            auto bucket = make(static_cast<double>(rate), burst);
            expected = foresee(bucket_model(rate, 1s, burst), weir::now(), traffic);
            auto seen = co_await play(*bucket, traffic);
            EXPECT_EQ(bucket->stats().waiting, 0u);
            EXPECT_EQ(bucket->stats().granted, seen.size());
            co_return seen;
        });
        // Where a token takes no whole number of nanoseconds, the model loses up to one at each
        // grant.
        const duration tolerance = coarse + (1'000'000'000 % rate == 0 ? 0ns : 60ns);
        ASSERT_EQ(differs(grants, expected, tolerance), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_bucket(grants, static_cast<double>(rate), 1s, burst), std::nullopt);
        ASSERT_EQ(out_of_order(grants), std::nullopt);
    }
}

template <class Make>
void is_sliding_window(int traces, const Make& make) {
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(traces); ++seed) {
        std::mt19937_64 random(seed);
        const double limit = static_cast<double>(1 + random() % 8);
        const auto traffic = random_traffic(random, 50, 200ms, limit, random() % 2 == 0, 5);
        std::vector<grant> expected;
        const auto grants = run_on_loop([&]() -> weir::task<std::vector<grant>> {
            auto window = make(limit);
            expected = foresee(window_model(limit, 1s), weir::now(), traffic);
            auto seen = co_await play(*window, traffic);
            co_return seen;
        });
        ASSERT_EQ(differs(grants, expected), std::nullopt) << "seed " << seed;
        ASSERT_EQ(exceeds_window(grants, limit, 1s), std::nullopt);
    }
}

// ---- decisions alone

// Makes requests at random times. A refusal must name the exact tick of the clock at which the
// request would be granted: not earlier, not later. To check that, all earlier requests are
// replayed on fresh decisions.
template <class Make>
std::vector<grant> names_exact_waits(std::mt19937_64& random, const Make& make, duration pause,
                                     double most, duration tick = 1ns) {
    struct attempt {
        time_point at;
        double weight;
    };
    const auto decision = make();
    std::vector<attempt> past;
    std::vector<grant> grants;
    const auto replayed = [&] {
        auto fresh = make();
        for (const attempt& each : past) {
            fresh->try_take(each.at, each.weight);
        }
        return fresh;
    };
    time_point now(1h);
    for (int i = 0; i < 40; ++i) {
        now += tick * (random() % static_cast<std::uint64_t>(pause * 2 / tick));
        const double weight =
            random() % 2 == 0 ? 1 : static_cast<double>(1 + random() % 1000) * most / 1000;
        std::optional<time_point> foreseen;
        if constexpr (requires { decision->plan(now); }) {
            foreseen = decision->plan(now).grant(weight);
        }
        const weir::decision::verdict said = decision->try_take(now, weight);
        if (foreseen.has_value()) {
            EXPECT_EQ(*foreseen, now + (said.granted ? 0ns : said.wait));
        }
        if (said.granted) {
            grants.push_back({now, weight, i});
        } else {
            EXPECT_GT(said.wait, 0ns);
            EXPECT_FALSE(replayed()->try_take(now + said.wait - tick, weight).granted);
            EXPECT_TRUE(replayed()->try_take(now + said.wait, weight).granted);
        }
        past.push_back({now, weight});
    }
    return grants;
}

}  // namespace limiter_tests
