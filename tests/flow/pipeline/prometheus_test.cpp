// SPDX-License-Identifier: MIT
// Metrics as Prometheus reads them.

#include <support/metrics_page.hpp>

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <limits>
#include <string>

using namespace std::chrono_literals;

namespace {

using weir_test::complaint_about;

WEIR_TEST(Prometheus, APolicyThatPipelinesShareIsWrittenOnce) {
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

WEIR_TEST(Prometheus, ASourceThatIsGoneIsNotWritten) {
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

TEST(Prometheus, EscapesWhatTheFormatReserves) {
    weir::prometheus_writer page;
    page.gauge("g", "a \\ and\na line", {{"name", "q\"b\\n\n"}}, 1.5);
    EXPECT_EQ(page.text(),
              "# HELP g a \\\\ and\\na line\n# TYPE g gauge\ng{name=\"q\\\"b\\\\n\\n\"} 1.5\n");
}

TEST(Prometheus, QuotesNeedNoEscapeInHelp) {
    weir::prometheus_writer page;
    page.gauge("g", "so \"called\"", {}, 1);
    EXPECT_EQ(page.text(), "# HELP g so \"called\"\n# TYPE g gauge\ng 1\n");
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

}  // namespace
