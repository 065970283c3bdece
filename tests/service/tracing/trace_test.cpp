// SPDX-License-Identifier: MIT
// W3C Trace Context: which headers are valid, and how they are written again.

#include <weir/service/trace.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using weir::service::trace_context;

constexpr const char* example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, ReadsAndWritesTheExampleOfTheStandard) {
    const auto read = trace_context::parse(example, "congo=t61rcWkgMzE");
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(read->is_set() && read->is_sampled());
    EXPECT_EQ(read->trace_id[0], 0x4b);
    EXPECT_EQ(read->trace_id[15], 0x36);
    EXPECT_EQ(read->span_id[7], 0xb7);
    EXPECT_EQ(read->tracestate, "congo=t61rcWkgMzE");
    EXPECT_EQ(read->traceparent(), example);
    EXPECT_EQ(trace_context().traceparent(), "");
    EXPECT_FALSE(trace_context().is_set());
}

TEST(TraceContext, OnlyTheLastBitOfTheFlagsSamples) {
    const std::string text = std::string(example).substr(0, 53);
    EXPECT_FALSE(trace_context::parse(text + "00")->is_sampled());
    EXPECT_FALSE(trace_context::parse(text + "02")->is_sampled());
    EXPECT_TRUE(trace_context::parse(text + "03")->is_sampled());
}

TEST(TraceContext, TakesLaterVersionsWithMoreFields) {
    const std::string rest = std::string(example).substr(2);
    const auto later = trace_context::parse("cc" + rest + "-what-the-future-holds");
    ASSERT_TRUE(later.has_value());
    EXPECT_EQ(later->traceparent(), example);
    EXPECT_TRUE(trace_context::parse("01" + rest).has_value());
    EXPECT_FALSE(trace_context::parse("cc" + rest + ".what").has_value());
}

TEST(TraceContext, RefusesWhatIsInvalid) {
    for (const char* const bad :
         {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
          "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
          "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
          "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
          "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          "-0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
        EXPECT_FALSE(trace_context::parse(bad).has_value()) << bad;
    }
}

TEST(TraceContext, LeavesOutAStateThatIsInvalidOrLong) {
    EXPECT_EQ(trace_context::parse(example, std::string(512, 'a'))->tracestate.size(), 512U);
    EXPECT_EQ(trace_context::parse(example, std::string(513, 'a'))->tracestate, "");
    EXPECT_EQ(trace_context::parse(example, "a=b\r\nX: y")->tracestate, "");
    EXPECT_EQ(trace_context::parse(example, "a=\xc3\xa4")->tracestate, "");
}

}  // namespace
