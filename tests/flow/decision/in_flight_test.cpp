// SPDX-License-Identifier: MIT
// The calls in flight, and how many of them began long ago.

#include <weir/flow/decision/in_flight.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::decision::in_flight;

constexpr weir::clock::time_point start(1h);

TEST(InFlight, CountsTheCallsThatBeganUntilATime) {
    in_flight calls;
    const auto first = calls.add(start);
    const auto second = calls.add(start + 1s);
    const auto third = calls.add(start + 2s);
    EXPECT_NE(first, in_flight::none);
    EXPECT_EQ(calls.begun_until(start + 1s), 2u);
    calls.remove(first);
    EXPECT_EQ(calls.begun_until(start + 1s), 1u);
    calls.remove(third);  // not counted yet
    EXPECT_EQ(calls.begun_until(start + 3s), 1u);
    calls.remove(second);
    EXPECT_EQ(calls.begun_until(start + 3s), 0u);
}

TEST(InFlight, ReusesPlaces) {
    in_flight calls;
    const auto place = calls.add(start);
    calls.remove(place);
    EXPECT_EQ(calls.add(start + 1s), place);
    calls.clear();
    EXPECT_EQ(calls.begun_until(start + 1h), 0u);
}

}  // namespace
