// SPDX-License-Identifier: MIT
// One call that an adaptive limit learns from.

#include <weir/flow/decision/limit_sample.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;

TEST(LimitSample, TheLatencyIsNeverNegative) {
    const weir::clock::time_point start(1h);
    EXPECT_EQ((weir::decision::limit_sample{start, start + 5ms}).latency(), 5ms);
    EXPECT_EQ((weir::decision::limit_sample{start, start - 5ms}).latency(), 0ms);
}

}  // namespace
