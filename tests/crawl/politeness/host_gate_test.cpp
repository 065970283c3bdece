// SPDX-License-Identifier: MIT
// The decision when the next request to a host may start.

#include "crawl/politeness/host_gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace host_gate_test {

using namespace std::chrono_literals;
using weir::clock;
using weir::crawl::detail::gate_rules;
using weir::crawl::detail::host_gate;

gate_rules rules() {
    gate_rules made;
    made.interval = 200ms;
    made.max_in_flight = 2;
    made.breaker_failures = 3;
    made.breaker_time = 30s;
    made.breaker_trips = 2;
    return made;
}

TEST(CrawlHostGate, SpacesRequestsAndLimitsThoseInFlight) {
    host_gate gate(rules());
    const clock::time_point start(10s);
    gate.begin(start);
    EXPECT_EQ(gate.next_at(), start + 200ms);
    EXPECT_FALSE(gate.is_full());
    gate.begin(start + 1s);
    EXPECT_EQ(gate.next_at(), start + 1200ms);
    EXPECT_TRUE(gate.is_full());
    gate.end();
    EXPECT_FALSE(gate.is_full());
}

TEST(CrawlHostGate, ASmallDelayDoesNotPutOffAllThatFollow) {
    const clock::time_point start(10s);
    host_gate punctual(rules());
    host_gate late(rules());
    punctual.begin(start);
    late.begin(start);
    for (int i = 0; i < 100; ++i) {
        punctual.begin(punctual.next_at());
        late.begin(late.next_at() + 1ms);
    }
    EXPECT_EQ(late.next_at(), punctual.next_at());
    EXPECT_LE(punctual.next_at() - start, 101 * 202ms);
}

TEST(CrawlHostGate, NoSecondHasMoreRequestsThanTheRate) {
    std::mt19937 random(7);
    host_gate gate(rules());
    std::vector<clock::time_point> left;
    clock::time_point time(10s);
    for (int i = 0; i < 10'000; ++i) {
        time = std::max(time, gate.next_at()) + random() % 20 * 1ms;
        gate.begin(time);
        time += random() % 50 * 1ms;  // it waits for others
        gate.leaves(time);
        left.push_back(time);
        if (i >= 5) {
            ASSERT_GE(left[i] - left[i - 5], 1s) << i;
        }
        gate.end();
    }
}

TEST(CrawlHostGate, TheFirstRequestCountsFromItsAnswer) {
    host_gate gate(rules());
    const clock::time_point start(10s);
    gate.begin(start);
    gate.returned(start + 90ms);  // its connection had to be made
    EXPECT_EQ(gate.next_at(), start + 290ms);
    gate.begin(start + 290ms);
    const clock::time_point next = gate.next_at();
    gate.returned(start + 400ms);  // a slow page
    EXPECT_EQ(gate.next_at(), next);
}

TEST(CrawlHostGate, CrawlDelayCountsFromTheLastRequest) {
    host_gate gate(rules());
    const clock::time_point start(10s);
    gate.begin(start);
    gate.slow_down(5s);
    EXPECT_EQ(gate.next_at(), start + 5s);
    gate.slow_down(1s);  // shorter than the own interval: no change
    EXPECT_EQ(gate.next_at(), start + 5s);
}

TEST(CrawlHostGate, FailuresInARowOpenTheBreakerAndThenGiveTheHostUp) {
    host_gate gate(rules());
    clock::time_point time(10s);
    EXPECT_FALSE(gate.fail(time));
    gate.succeed();
    EXPECT_FALSE(gate.fail(time));
    EXPECT_FALSE(gate.fail(time));
    EXPECT_FALSE(gate.fail(time));
    EXPECT_EQ(gate.next_at(), time + 30s);
    EXPECT_EQ(gate.reason(), host_gate::wait_reason::breaker);
    EXPECT_FALSE(gate.fail(time + 1s));  // was in flight when it opened
    time += 31s;
    gate.begin(time);
    EXPECT_TRUE(gate.is_full());  // one request tries
    EXPECT_TRUE(gate.fail(time));
}

TEST(CrawlHostGate, ASuccessClosesTheBreaker) {
    host_gate gate(rules());
    const clock::time_point time(10s);
    for (int i = 0; i < 3; ++i) {
        gate.fail(time);
    }
    EXPECT_EQ(gate.trips(), 1u);
    gate.succeed();
    EXPECT_EQ(gate.trips(), 0u);
    EXPECT_EQ(gate.failures(), 0u);
}

TEST(CrawlHostGate, StateSurvivesARestart) {
    host_gate gate(rules());
    gate.restore(clock::time_point(100s), 4, 1);
    EXPECT_EQ(gate.next_at(), clock::time_point(100s));
    EXPECT_EQ(gate.trips(), 1u);
    gate.wait_until(clock::time_point(50s), host_gate::wait_reason::retry_after);
    EXPECT_EQ(gate.next_at(), clock::time_point(100s));
}

}  // namespace host_gate_test
