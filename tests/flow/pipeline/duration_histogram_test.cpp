// SPDX-License-Identifier: MIT
// Durations in buckets.

#include <support/metrics_page.hpp>

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <array>
#include <string>

using namespace std::chrono_literals;

namespace {

using weir_test::complaint_about;

WEIR_TEST(DurationHistogram, DurationsAreCountedInBuckets) {
    weir::pipeline line("line", weir::attempt_timeout{10s});
    line.measure_durations();
    for (const auto takes : {1ms, 3ms, 700ms, 700ms}) {
        co_await line.run([takes]() -> weir::task<> { co_await weir::sleep(takes); });
    }
    WEIR_ASSERT_TRUE(line.durations() != nullptr);
    EXPECT_EQ(line.durations()->count(), 4u);
    EXPECT_NEAR(line.durations()->sum(), 1.404, 1e-9);
    weir::prometheus_writer page;
    line.write_metrics(page);
    const std::string text = page.text();
    const std::string name = "weir_pipeline_call_duration_seconds_bucket{name=\"line\",le=";
    EXPECT_NE(text.find(name + "\"0.0005\"} 0\n"), std::string::npos) << text;
    EXPECT_NE(text.find(name + "\"0.001\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find(name + "\"0.005\"} 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find(name + "\"1\"} 4\n"), std::string::npos) << text;
    EXPECT_NE(text.find(name + "\"+Inf\"} 4\n"), std::string::npos) << text;
    EXPECT_EQ(complaint_about(text), "");
}

struct coarse_bounds {
    static constexpr std::array<double, 2> seconds = {1, 3600};
};

TEST(DurationHistogram, HasTheBoundsOfItsType) {
    weir::basic_duration_histogram<coarse_bounds> all;
    for (const auto took : {1000ms, 1001ms, 3'600'000ms, 3'601'000ms}) {
        all.record(took);
    }
    weir::prometheus_writer page;
    all.write(page, "took_seconds", "How long it took.", {});
    const std::string text = page.text();
    EXPECT_NE(text.find("took_seconds_bucket{le=\"1\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("took_seconds_bucket{le=\"3600\"} 3\n"), std::string::npos) << text;
    EXPECT_NE(text.find("took_seconds_count 4\n"), std::string::npos) << text;
    EXPECT_EQ(complaint_about(text), "");
}

TEST(DurationHistogram, TakesWhateverItIsGiven) {
    weir::duration_histogram all;
    all.record(-1s);
    all.record(weir::clock::duration::max());
    all.record(weir::clock::duration::zero());
    EXPECT_EQ(all.count(), 3u);
}

}  // namespace
