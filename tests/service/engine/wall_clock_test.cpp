// SPDX-License-Identifier: MIT
#include "service/engine/wall_clock.hpp"

#include "support.hpp"

namespace weir::service::testing {
namespace {

WEIR_TEST(WallClock, FollowsTheSimulatedTimeOfTheLoop) {
    const detail::wall_clock time{{}};
    const timestamp before = time.now();
    co_await sleep(90s);
    EXPECT_EQ(time.now() - before, 90s);
    EXPECT_EQ(time.loop_time(time.now() + 5s), weir::now() + 5s);
    EXPECT_EQ(time.loop_time(time.now() + 25h), clock::time_point::max());
}

WEIR_TEST(WallClock, WaitsUntilATimeOrAnEvent) {
    event wake;
    const clock::time_point begun = weir::now();
    co_await detail::wait_until(wake, begun + 2s);
    EXPECT_EQ(weir::now() - begun, 2s);
    wake.set();
    co_await detail::wait_until(wake, begun + 10s);
    EXPECT_EQ(weir::now() - begun, 2s);
}

WEIR_TEST(WallClock, ADayAheadIsTheFurthest) {
    const detail::wall_clock time{{}};
    EXPECT_EQ(time.loop_time(time.now() + 24h), weir::now() + 24h);
    EXPECT_EQ(time.loop_time(time.now() + 24h + 1us), clock::time_point::max());
    EXPECT_EQ(time.loop_time(time.now() - 5s), weir::now() - 5s);
    co_return;
}

WEIR_TEST(WallClock, FollowsTheCalendarOfAServer) {
    detail::wall_clock time{hook<timestamp()>([] { return timestamp(7s); })};
    const clock::time_point begun = weir::now();
    co_await sleep(3s);
    time.follow_calendar(timestamp(100s), begun);
    EXPECT_EQ(time.now(), timestamp(100s)) << "as late as it may be";
    co_await sleep(5s);
    EXPECT_EQ(time.now(), timestamp(105s));
    time.follow_calendar(timestamp(106s), weir::now() - 2s);
    EXPECT_EQ(time.now(), timestamp(106s)) << "it cannot be earlier";
    time.follow_calendar(timestamp(105s), weir::now() - 2s);
    EXPECT_EQ(time.now(), timestamp(106s)) << "it may still be so";
    time.follow_calendar(timestamp(50s), weir::now() - 2s);
    EXPECT_EQ(time.now(), timestamp(50s));
    time.follow_calendar({}, weir::now());
    EXPECT_EQ(time.now(), timestamp(7s));
}

WEIR_TEST(WallClock, AnotherSourceCounts) {
    const detail::wall_clock time{hook<timestamp()>([] { return timestamp(7s); })};
    EXPECT_EQ(time.now(), timestamp(7s));
    EXPECT_EQ(time.loop_time(timestamp(9s)), weir::now() + 2s);
    co_return;
}

}  // namespace
}  // namespace weir::service::testing
