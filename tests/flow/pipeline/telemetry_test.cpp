// SPDX-License-Identifier: MIT
// Metrics as Prometheus reads them: one sample per metric and labels, escaped, grouped; durations.

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>

using namespace std::chrono_literals;

namespace {

// Lines that say the same thing twice, metrics that are not together, or nothing.
std::string complaint_about(const std::string& page) {
    std::istringstream lines(page);
    std::set<std::string> samples;
    std::set<std::string> closed;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# TYPE ")) {
            const std::string name = line.substr(7, line.find(' ', 7) - 7);
            closed.insert(family);
            if (closed.contains(name)) {
                return "two families: " + name;
            }
            family = name;
        } else if (!line.starts_with("#")) {
            if (!line.starts_with(family)) {
                return "not in its family: " + line;
            }
            if (!samples.insert(line.substr(0, line.rfind(' '))).second) {
                return "twice: " + line;
            }
        }
    }
    return "";
}

WEIR_TEST(Telemetry, APolicyThatPipelinesShareIsWrittenOnce) {
    weir::circuit_breaker breaker({.name = "shared", .consecutive_failures = 2});
    weir::pipeline reads("reads", breaker);
    weir::pipeline writes("writes", weir::attempt_timeout{1s}, breaker);
    co_await reads.run([] { return 1; });
    co_await writes.run([] { return 1; });
    weir::metrics all;
    auto first = all.add(reads);
    auto second = all.add(writes);
    EXPECT_EQ(complaint_about(all.prometheus()), "") << all.prometheus();
}

WEIR_TEST(Telemetry, ASourceThatIsGoneIsNotWritten) {
    weir::metrics all;
    weir::pipeline kept("kept", weir::attempt_timeout{1s});
    auto first = all.add(kept);
    {
        weir::pipeline gone("gone", weir::attempt_timeout{1s});
        auto second = all.add(gone);
        EXPECT_NE(all.prometheus().find("gone"), std::string::npos);
    }
    EXPECT_EQ(all.prometheus().find("gone"), std::string::npos);
    EXPECT_NE(all.prometheus().find("kept"), std::string::npos);
    co_return;
}

WEIR_TEST(Telemetry, BothTimeoutsOfAPipelineAreSeen) {
    weir::pipeline api("api", weir::total_timeout{10s}, weir::attempt_timeout{1s});
    auto work = [] { return weir::sleep(2s); };
    const auto ended = co_await api.settle(work);
    EXPECT_TRUE(ended.has_error());
    weir::prometheus_writer page;
    api.write_metrics(page);
    const std::string text = page.text();
    const std::string name = "weir_timeout_expired_total{name=\"api\",limits=";
    EXPECT_NE(text.find(name + "\"total\"} 0\n"), std::string::npos) << text;
    EXPECT_NE(text.find(name + "\"attempt\"} 1\n"), std::string::npos) << text;
}

TEST(Prometheus, EscapesWhatTheFormatReserves) {
    weir::prometheus_writer page;
    page.gauge("g", "a \\ and\na line", {{"name", "q\"b\\n\n"}}, 1.5);
    EXPECT_EQ(page.text(),
              "# HELP g a \\\\ and\\na line\n# TYPE g gauge\ng{name=\"q\\\"b\\\\n\\n\"} 1.5\n");
}

TEST(Prometheus, NumbersThatAreNone) {
    weir::prometheus_writer page;
    page.gauge("g", "h", {{"name", "a"}}, std::numeric_limits<double>::quiet_NaN());
    page.gauge("g", "h", {{"name", "b"}}, std::numeric_limits<double>::infinity());
    page.gauge("g", "h", {{"name", "c"}}, -std::numeric_limits<double>::infinity());
    EXPECT_NE(page.text().find("g{name=\"a\"} NaN\ng{name=\"b\"} +Inf\ng{name=\"c\"} -Inf\n"),
              std::string::npos);
}

TEST(Prometheus, OneMetricHasOneType) {
    weir::prometheus_writer page;
    page.gauge("g", "h", {}, 1);
    EXPECT_THROW(page.counter("g", "h", {}, 1), weir::invalid_argument);
}

WEIR_TEST(Telemetry, DurationsAreCountedInBuckets) {
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

TEST(DurationHistogram, TakesWhateverItIsGiven) {
    weir::duration_histogram all;
    all.record(-1s);
    all.record(weir::clock::duration::max());
    all.record(weir::clock::duration::zero());
    EXPECT_EQ(all.count(), 3u);
}

}  // namespace
