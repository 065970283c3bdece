// SPDX-License-Identifier: MIT
// The decision when the next request to a host may start.

#include "crawl/politeness/host_gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace host_gate_test {

using namespace std::chrono_literals;
using weir::clock;
using weir::crawl::detail::gate_rules;
using weir::crawl::detail::host_gate;

gate_rules rules(double rate = 5, clock::duration delay = {}) {
    gate_rules made(rate, delay);
    made.max_in_flight = 2;
    made.breaker_failures = 3;
    made.breaker_time = 30s;
    made.breaker_trips = 2;
    return made;
}

// A host that always has URLs and whose requests take no time.
struct busy_host {
    explicit busy_host(const gate_rules& of) : gate(of) {}

    // The next request starts so much later than it may.
    void request(clock::duration late = {}) {
        time = std::max(time, gate.next_at()) + late;
        gate.begin(time, first);
        gate.end(time);
        left.push_back(time);
    }
    clock::duration shortest_gap() const {
        clock::duration shortest = clock::duration::max();
        for (std::size_t i = 1; i < left.size(); ++i) {
            shortest = std::min(shortest, left[i] - left[i - 1]);
        }
        return shortest;
    }
    // The most requests that a time of this length has.
    std::size_t most_within(clock::duration length) const {
        std::size_t most = 0;
        for (std::size_t first_of = 0, i = 0; i < left.size(); ++i) {
            while (left[i] - left[first_of] >= length) {
                ++first_of;
            }
            most = std::max(most, i - first_of + 1);
        }
        return most;
    }

    host_gate gate;
    clock::time_point first{10s};
    clock::time_point time = first;
    std::vector<clock::time_point> left;
};

TEST(CrawlHostGate, SpacesRequestsAndLimitsThoseInFlight) {
    host_gate gate(rules());
    const clock::time_point start(10s);
    gate.begin(start, start);
    EXPECT_GE(gate.next_at(), start + 200ms);
    EXPECT_LE(gate.next_at(), start + 203ms);
    EXPECT_FALSE(gate.is_full());
    gate.begin(start + 1s, start + 1s);
    EXPECT_GE(gate.next_at(), start + 1200ms);
    EXPECT_TRUE(gate.is_full());
    gate.end(start + 1s);
    EXPECT_FALSE(gate.is_full());
}

TEST(CrawlHostGate, PunctualRequestsAreEvenlySpaced) {
    busy_host host(rules());
    for (int i = 0; i < 100; ++i) {
        host.request();
    }
    EXPECT_GE(host.shortest_gap(), 200ms);
    EXPECT_LE(host.left.back() - host.first, 99 * 203ms);
}

TEST(CrawlHostGate, DelaysDoNotAddUp) {
    for (const clock::duration late : {1ms, 2ms, 3ms}) {
        busy_host host(rules());
        for (int i = 0; i < 500; ++i) {
            host.request(late);
        }
        EXPECT_LE(host.left.back() - host.first, 500 * 203ms) << late.count();
    }
}

TEST(CrawlHostGate, ALateRequestPutsOffOnlyThoseThatTheRateDemands) {
    busy_host host(rules());
    for (int i = 0; i < 50; ++i) {
        host.request(i == 7 ? 90ms : 0ms);
    }
    EXPECT_LE(host.left[8] - host.first, 8 * 203ms);
    EXPECT_GE(host.left[12] - host.left[7], 1s);
    EXPECT_LE(host.left.back() - host.first, 49 * 203ms);
}

TEST(CrawlHostGate, AHostThatBeginsLateCatchesUp) {
    for (const clock::duration late : {50ms, 200ms, 380ms}) {
        busy_host host(rules());
        host.request(late);
        for (int i = 1; i < 50; ++i) {
            host.request();
        }
        EXPECT_LE(host.left.back() - host.first, 49 * 203ms) << late.count();
        EXPECT_LE(host.most_within(1s), 5u);
        EXPECT_GE(host.shortest_gap(), 100ms);
    }
}

TEST(CrawlHostGate, AHostThatWasIdleHasNothingToCatchUpWith) {
    busy_host host(rules());
    for (int i = 0; i < 10; ++i) {
        host.request();
    }
    EXPECT_FALSE(host.gate.is_idle(host.time + 100ms));
    host.time += 10s;
    EXPECT_TRUE(host.gate.is_idle(host.time));
    host.first = host.time;
    host.left.clear();
    for (int i = 0; i < 10; ++i) {
        host.request();
    }
    EXPECT_GE(host.shortest_gap(), 200ms);
}

TEST(CrawlHostGate, AWaitIsNotMadeUpFor) {
    busy_host host(rules());
    for (int i = 0; i < 10; ++i) {
        host.request();
    }
    host.gate.wait_until(host.time + 10s, host_gate::wait_reason::retry_after);
    host.left.clear();
    for (int i = 0; i < 10; ++i) {
        host.request();
    }
    EXPECT_GE(host.shortest_gap(), 200ms);
}

TEST(CrawlHostGate, NoSecondHasMoreRequestsThanTheRate) {
    for (const double rate : {1.0, 2.0, 2.5, 5.0, 10.0, 33.0, 100.0, 120.0}) {
        std::mt19937 random(7);
        host_gate gate(rules(rate));
        std::vector<clock::time_point> left;
        std::vector<clock::time_point> began;
        clock::time_point time(10s);
        clock::time_point due = time;
        const auto most = static_cast<std::size_t>(std::ceil(rate));
        for (std::size_t i = 0; i < 10'000; ++i) {
            time = std::max(time, gate.next_at());
            if (random() % 4 == 0) {
                time += random() % 500 * 1ms;  // there are no URLs, or others come first
            }
            if (gate.is_idle(time)) {
                due = time;
            }
            gate.begin(time, due);
            time += random() % 50 * 1ms;  // it waits for others
            gate.leaves(time);
            left.push_back(time);
            if (i >= most) {
                ASSERT_GE(left[i] - left[i - most], 1s) << rate << " " << i;
            }
            gate.end(time);
        }
    }
}

// As long as answers that are late by less than a quarter of the interval tell how late.
TEST(CrawlHostGate, NoSecondHasMoreRequestsThanTheRateAsTheServerSeesThem) {
    std::mt19937 random(8);
    host_gate gate(rules());
    std::vector<clock::time_point> seen;
    clock::time_point time(10s);
    for (std::size_t i = 0; i < 10'000; ++i) {
        time = std::max(time, gate.next_at()) + random() % 20 * 1ms;
        gate.begin(time, time);
        const clock::duration underway = (i == 0 ? 350 : 5 + random() % 50) * 1ms;
        seen.push_back(time + underway);
        gate.answered(time, underway + 5ms);
        gate.end(time);
        if (i >= 5) {
            ASSERT_GE(seen[i] - seen[i - 5], 1s) << i;
        }
    }
}

TEST(CrawlHostGate, TheFirstRequestCountsFromItsAnswer) {
    busy_host host(rules());
    host.request();
    host.gate.answered(host.first, 90ms);  // its connection had to be made
    for (int i = 1; i < 50; ++i) {
        host.request();
    }
    EXPECT_GE(host.left[5] - host.first, 1090ms);
    EXPECT_LE(host.left.back() - host.first, 49 * 203ms);
}

TEST(CrawlHostGate, ServersThatTakeTheirTimeAreNotSlowedDownForThat) {
    busy_host host(rules());
    for (int i = 0; i < 100; ++i) {
        host.request();
        host.gate.answered(host.time, 2s);
    }
    EXPECT_LE(host.left.back() - host.left[1], 98 * 203ms);
}

TEST(CrawlHostGate, ADelayIsKeptBetweenAnyTwoRequests) {
    for (const gate_rules& each : {rules(5, 300ms), rules(0, 300ms)}) {
        busy_host host(each);
        for (int i = 0; i < 100; ++i) {
            host.request(i % 7 == 0 ? 250ms : 0ms);
        }
        EXPECT_GE(host.shortest_gap(), 300ms);
    }
}

TEST(CrawlHostGate, WithoutARateNothingWaits) {
    busy_host host(rules(0));
    for (int i = 0; i < 100; ++i) {
        host.request();
    }
    EXPECT_EQ(host.left.back(), host.first);
}

TEST(CrawlHostGate, CrawlDelayCountsFromTheLastRequest) {
    for (const double rate : {5.0, 0.0}) {
        busy_host host(rules(rate));
        host.request();
        host.gate.slow_down(5s);
        EXPECT_GE(host.gate.next_at(), host.first + 5s);
        EXPECT_LE(host.gate.next_at(), host.first + 5063ms);
        host.gate.slow_down(1s);  // shorter than the own interval: no change
        for (int i = 1; i < 20; ++i) {
            host.request(i % 3 == 0 ? 2s : 0s);
        }
        EXPECT_GE(host.shortest_gap(), 5s);
    }
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
    gate.begin(time, time);
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
