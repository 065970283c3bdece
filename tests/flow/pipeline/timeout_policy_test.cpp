// SPDX-License-Identifier: MIT
// Timeouts as policies.

#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

weir::task<int> slow(weir::clock::duration time) {
    co_await weir::sleep(time);
    co_return 7;
}

WEIR_TEST(TimeoutPolicy, StopsTheCallAndIsAnError) {
    weir::pipeline line("line", weir::attempt_timeout{2s});
    const auto began = weir::now();
    const auto late = co_await line.settle([] { return slow(1h); });
    EXPECT_EQ(weir::now() - began, 2s);
    EXPECT_NE(weir::outcome_view(late).error<weir::timed_out>(), nullptr);
    const int in_time = co_await line.run([] { return slow(1s); });
    EXPECT_EQ(in_time, 7);
    const auto own = co_await line.settle([]() -> int { throw weir::timed_out("mine"); });
    EXPECT_STREQ(weir::outcome_view(own).error<weir::timed_out>()->what(), "mine");
    EXPECT_EQ(line.get<0>().stats().calls, 3u);
    EXPECT_EQ(line.get<0>().stats().timed_out, 1u);
}

WEIR_TEST(TimeoutPolicy, RefusesInvalidLimits) {
    try {
        weir::pipeline line("line", weir::total_timeout{-1s});
        ADD_FAILURE();
    } catch (const weir::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("total_timeout"), std::string::npos);
    }
    co_return;
}

}  // namespace
