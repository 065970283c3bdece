// SPDX-License-Identifier: MIT
#include <weir/clock.hpp>
#include <weir/testing/testing.hpp>

#include <cmath>
#include <limits>

namespace {

using namespace std::chrono_literals;
using weir::clock;

WEIR_TEST(Clock, IsTheTimeOfTheRunningLoop) {
    const auto begin = clock::now();
    co_await weir::sleep(3h);
    EXPECT_EQ(clock::now() - begin, 3h);
    EXPECT_EQ(clock::now(), weir::now());
}

TEST(Clock, NeedsALoop) {
    EXPECT_THROW(clock::now(), weir::loop_error);
}

TEST(Clock, DurationsAreRoundedUpAndClamped) {
    using std::chrono::duration;
    EXPECT_EQ(weir::detail::to_nanoseconds(2ms), 2'000'000ns);
    EXPECT_EQ(weir::detail::to_nanoseconds(duration<double, std::nano>(0.1)), 1ns);
    EXPECT_EQ(weir::detail::to_nanoseconds(duration<double>(1e30)), clock::duration::max());
    EXPECT_EQ(weir::detail::to_nanoseconds(duration<double>(-1e30)), clock::duration::min());
    EXPECT_EQ(weir::detail::to_nanoseconds(std::chrono::hours::max()), clock::duration::max());
}

TEST(Clock, RefusesADurationThatIsNotANumber) {
    const std::chrono::duration<double> none(std::nan(""));
    EXPECT_THROW(weir::detail::to_nanoseconds(none), weir::invalid_argument);
}

TEST(Clock, DeadlinesEndAtTheEndOfTime) {
    const clock::time_point late = clock::time_point::max() - 1s;
    EXPECT_EQ(weir::detail::after(late, 2s), clock::time_point::max());
    EXPECT_EQ(weir::detail::after(late, -2s), late - 2s);
    EXPECT_EQ(weir::detail::after(clock::time_point{}, 2s), clock::time_point(2s));
}

}  // namespace
