// SPDX-License-Identifier: MIT
// The metrics that policies write.

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

}  // namespace
