// SPDX-License-Identifier: MIT
// A sliding window that processes share through a real Redis.

#include "support.hpp"

#include <weir/flow/pipeline.hpp>
#include <weir/flow/prometheus.hpp>

namespace {

using namespace shared_limits;
using redis_test::shared_server;

WEIR_IO_TEST(SlidingWindow, LimitsCallsInAnyWindow) {
    redis::client one({.port = shared_server().port()});
    co_await one.command("DEL", "window");
    redis::sliding_window in_time(
        one, {.key = "window", .limit = 2, .window = 100ms, .timeout = 5s, .name = "calls"});
    const auto begin = weir::now();
    for (int i = 0; i < 6; ++i) {
        co_await in_time.acquire();
    }
    EXPECT_GE(weir::now() - begin, 200ms);
    EXPECT_LE(in_time.stats().questions, 14u);
    weir::prometheus_writer page;
    in_time.write_metrics(page);
    EXPECT_NE(page.text().find("weir_limiter_granted_total{kind=\"redis::sliding_window\","
                               "name=\"calls\"} 6"),
              std::string::npos)
        << page.text();
    const int ran = co_await in_time.run([] { return 7; });
    EXPECT_EQ(ran, 7);
    auto calls = weir::pipeline("calls", in_time);
    const int through = co_await calls.run([] { return 8; });
    EXPECT_EQ(through, 8);
    EXPECT_EQ(in_time.stats().granted, 8u);
}

}  // namespace
