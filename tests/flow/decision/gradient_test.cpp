// SPDX-License-Identifier: MIT
// The gradient and aimd under simulated overload, and a naive limit that grows without end.

#include "flow/concurrency/naive_limit.hpp"
#include "flow/concurrency/support.hpp"

#include <weir/flow/adaptive_limit.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/sync/semaphore.hpp>

#include <limits>

namespace flow_bulkhead {
namespace {

// The limit after many calls to a server whose latency grows with the number of concurrent calls. A
// limit far above the capacity is a violation.
template <class Algorithm>
std::optional<std::string> growth(Algorithm& tried, double capacity, double demand, int rounds) {
    weir::clock::time_point now(1s);
    for (int round = 0; round < rounds; ++round) {
        const double running = std::min(demand, static_cast<double>(tried.limit()));
        const auto latency = std::chrono::duration_cast<weir::clock::duration>(
            std::chrono::duration<double>(0.1 * std::max(1.0, running / capacity)));
        for (int i = 0; i < static_cast<int>(running); ++i) {
            tried.add({now, now + latency, static_cast<std::size_t>(running), false});
        }
        now += latency;
        if (static_cast<double>(tried.limit()) > 3 * std::max(capacity, 20.0)) {
            return "after " + std::to_string(round) + " rounds the limit is " +
                   std::to_string(tried.limit());
        }
    }
    return std::nullopt;
}

weir::decision::gradient::terms gradient_terms() {
    return {.initial = 20,
            .least = 1,
            .most = 1000,
            .backoff = 0.9,
            .tolerance = 1.5,
            .smoothing = 0.2,
            .window = 100ms,
            .window_calls = 20,
            .probe_every = 30s};
}

// The demand is slightly above the capacity of the server, for hours.
TEST(KnownBugs, concurrency_limits_134_no_growth_without_end_under_mild_overload) {
    weir::decision::gradient tried(gradient_terms());
    const auto found = growth(tried, 20, 1000, 100'000);
    EXPECT_FALSE(found) << *found;
    EXPECT_GE(tried.limit(), 10u);
    weir::decision::aimd other(
        {.initial = 20, .least = 1, .most = 1000, .backoff = 0.9, .latency_limit = 200ms});
    const auto found_other = growth(other, 20, 1000, 100'000);
    EXPECT_FALSE(found_other) << *found_other;
}

TEST(NaiveLimit, ALongAverageDriftsUnderOverload) {
    drifting_gradient tried(20);
    EXPECT_TRUE(growth(tried, 20, 1000, 100'000));
}

TEST(Gradient, NoGrowthWhileItIsNotInUse) {
    weir::decision::gradient tried(gradient_terms());
    const auto found = growth(tried, 1000, 3, 100'000);
    EXPECT_FALSE(found) << *found;
    EXPECT_LE(tried.limit(), 20u);
    weir::decision::aimd other(
        {.initial = 20, .least = 1, .most = 1000, .backoff = 0.9, .latency_limit = {}});
    growth(other, 1000, 3, 100'000);
    EXPECT_EQ(other.limit(), 20u);
}

TEST(NaiveLimit, GrowthThatIsNotInUse) {
    unused_increase tried(20);
    EXPECT_TRUE(growth(tried, 20, 3, 100'000));
}

// Stays within bounds for all inputs.
TEST(Gradient, StaysWithinItsBoundsOnRandomSamples) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        dice random(seed);
        const double least = 1 + random.below(5);
        const double most = least + random.below(50);
        weir::decision::gradient by_latency({.initial = least,
                                             .least = least,
                                             .most = most,
                                             .backoff = 0.5,
                                             .tolerance = 1 + random.below(10) / 10.0,
                                             .smoothing = 0.2 + random.below(8) / 10.0,
                                             .window = random.milliseconds_below(200),
                                             .window_calls = 1 + random.below(10),
                                             .probe_every = 1ms + random.milliseconds_below(900)});
        weir::decision::aimd additive({.initial = least,
                                       .least = least,
                                       .most = most,
                                       .backoff = 0.5,
                                       .latency_limit = random.milliseconds_below(100)});
        weir::clock::time_point now(1s);
        for (int i = 0; i < 200; ++i) {
            now += random.milliseconds_below(20);
            const weir::decision::limit_sample sample{now - random.milliseconds_below(500),
                                                      now - random.milliseconds_below(100),
                                                      random.below(100), random.one_in(20)};
            by_latency.add(sample);
            additive.add(sample);
            for (const std::size_t limit : {by_latency.limit(), additive.limit()}) {
                ASSERT_GE(static_cast<double>(limit), least) << "seed " << seed;
                ASSERT_LE(static_cast<double>(limit), most) << "seed " << seed;
            }
        }
    }
}

// After a decrease the latencies from before it say nothing.
TEST(Gradient, ADecreaseBeginsANewWindow) {
    weir::decision::gradient tried(gradient_terms());
    weir::decision::gradient other(gradient_terms());
    const auto both = [&](const weir::decision::limit_sample& sample) {
        tried.add(sample);
        other.add(sample);
    };
    weir::clock::time_point now(1s);
    for (int i = 0; i < 1000; ++i) {
        now += 10ms;
        both({now - 100ms, now, 20, false});
    }
    for (int i = 0; i < 15; ++i) {  // part of a window, in one of the two
        now += 10ms;
        tried.add({now - 10ms, now, 20, false});
    }
    now += 10ms;
    both({now - 1ms, now, 20, true});
    ASSERT_EQ(tried.limit(), other.limit());
    for (int i = 0; i < 100; ++i) {
        now += 10ms;
        both({now - 100ms, now, 20, false});
        ASSERT_EQ(tried.limit(), other.limit()) << i;
    }
}

TEST(Gradient, OneOverloadIsOneDecrease) {
    weir::decision::aimd tried(
        {.initial = 100, .least = 1, .most = 1000, .backoff = 0.5, .latency_limit = {}});
    const weir::clock::time_point start(10s);
    for (int i = 0; i < 100; ++i) {  // all began before the first was dropped
        tried.add({start, start + 1s + i * 1ms, 100, true});
    }
    EXPECT_EQ(tried.limit(), 50u);
    tried.add({start + 2s, start + 3s, 50, true});
    EXPECT_EQ(tried.limit(), 25u);
}

}  // namespace
}  // namespace flow_bulkhead
