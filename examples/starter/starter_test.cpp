// SPDX-License-Identifier: MIT
#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

using namespace std::chrono_literals;

// An hour of simulated time, in microseconds of real time.
WEIR_TEST(Starter, SleepsInSimulatedTime) {
    auto started = weir::now();
    co_await weir::sleep(1h);
    EXPECT_EQ(weir::now() - started, 1h);
}
