// SPDX-License-Identifier: MIT
// Percentiles of durations, and of recent ones.

#include "flow/retry/naive_budget.hpp"
#include "flow/retry/support.hpp"

#include <weir/flow/decision/latency_histogram.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <vector>

namespace {

using namespace retry_tests;
using weir::clock;

TEST(LatencyHistogram, PercentilesAreExactToAnEighth) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        weir::decision::latency_histogram histogram;
        std::vector<clock::duration> all;
        for (std::size_t i = 0; i < 1 + seed * 5; ++i) {
            const auto magnitude = random() % 42;
            all.emplace_back(static_cast<std::int64_t>(random() % (std::uint64_t{1} << magnitude)));
            histogram.record(all.back());
        }
        std::sort(all.begin(), all.end());
        for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
            const auto rank = static_cast<std::size_t>(
                std::max(1.0, std::ceil(share * static_cast<double>(all.size()))));
            const clock::duration exact = all[rank - 1];
            const clock::duration found = histogram.percentile(share);
            ASSERT_GE(found, exact) << share;
            ASSERT_LE(found, exact + exact / 8 + 2us) << share;
        }
    }
}

TEST(LatencyHistogram, HoldsWhateverItIsGiven) {
    using weir::decision::latency_histogram;
    EXPECT_EQ(latency_histogram().percentile(0.5), 0s);
    EXPECT_EQ(latency_histogram::bucket_of(-5s), 0u);
    EXPECT_EQ(latency_histogram::bucket_of(clock::duration::max()), latency_histogram::buckets - 1);
    for (std::size_t bucket = 1; bucket < latency_histogram::buckets; ++bucket) {
        ASSERT_GT(latency_histogram::end_of(bucket), latency_histogram::end_of(bucket - 1));
        ASSERT_EQ(latency_histogram::bucket_of(latency_histogram::end_of(bucket) - 1ns), bucket);
    }
}

TEST(LatencyHistogram, PercentilesOfFiveHoursAreNearEnough) {
    weir::decision::latency_histogram latencies;
    std::mt19937 random(1);
    std::vector<clock::duration> all;
    for (int i = 0; i < 10'000; ++i) {
        const auto micros = static_cast<std::int64_t>(
            std::pow(2.0, std::uniform_real_distribution<double>(0, 34)(random)));
        all.push_back(std::chrono::microseconds(micros));
        latencies.record(all.back());
    }
    latencies.record(-5us);  // a clock was set back
    std::sort(all.begin(), all.end());
    for (const double share : {0.1, 0.5, 0.9, 0.99}) {
        const clock::duration exact = all[static_cast<std::size_t>(share * 10'000)];
        EXPECT_GE(latencies.percentile(share), exact * 97 / 100);
        EXPECT_LE(latencies.percentile(share), exact * 116 / 100 + 2us);
    }
    latencies.record(std::chrono::hours(1'000'000));
    EXPECT_GT(latencies.percentile(1), 1h);
    latencies.clear();
    EXPECT_EQ(latencies.count(), 0u);
}

TEST(LatencyHistogram, ForgetsWhatIsLongAgo) {
    weir::decision::recent_latencies recent(1min);
    clock::time_point now{0s};
    for (int i = 0; i < 100; ++i) {
        recent.record(now, 1s);
    }
    now += 1min;
    for (int i = 0; i < 100; ++i) {
        recent.record(now, 10ms);
    }
    EXPECT_EQ(recent.count(now), 200u);
    EXPECT_GE(recent.percentile(now, 0.9), 1s);
    now += 1min;
    EXPECT_EQ(recent.count(now), 100u);
    EXPECT_LE(recent.percentile(now, 0.9), 12ms);
    now += 10min;
    EXPECT_EQ(recent.count(now), 0u);
}

}  // namespace
