// SPDX-License-Identifier: MIT
// The decision of a destination alone: what it may take, and what runs teach it.

#include "service/store/destination_gate.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using namespace std::chrono_literals;
using namespace weir::service;
using detail::destination_gate;
using detail::destination_state;
using outcome = destination_outcome;
using weir::circuit_state;

struct played_destination {
    destination_limits limits;
    destination_state state{};
    timestamp now = std::chrono::sys_days(std::chrono::year(2026) / 5 / 17);

    destination_gate gate() { return {limits, state}; }
    void start() {
        gate().started(now, 1);
        ++state.running;
    }
    void end(outcome how, std::chrono::milliseconds pause = 0ms) {
        --state.running;
        gate().ended({how, pause > 0ms ? now + pause : timestamp{}}, now);
    }
    hold::reason only_hold() {
        const std::vector<hold> all = gate().holds(now);
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? hold::reason::its_turn : all[0].why;
    }
};

TEST(DestinationGate, WithoutLimitsTakesAll) {
    played_destination host;
    EXPECT_GT(host.gate().room(host.now), 1'000'000U);
    for (int i = 0; i < 100; ++i) {
        host.start();
        host.end(outcome::failed);
    }
    EXPECT_GT(host.gate().room(host.now), 1'000'000U);
    EXPECT_EQ(host.gate().circuit(host.now), circuit_state::closed);
    EXPECT_TRUE(host.gate().holds(host.now).empty());
}

TEST(DestinationGate, FailuresInARowOpenTheCircuitForOneTrial) {
    played_destination host{{.max_running = 4, .open_after = 3, .open_for = 10s}};
    for (const outcome each : {outcome::failed, outcome::failed, outcome::answered, outcome::failed,
                               outcome::unknown, outcome::failed}) {
        host.start();
        host.end(each);
        EXPECT_EQ(host.gate().circuit(host.now), circuit_state::closed);
    }
    host.start();
    host.end(outcome::failed);
    EXPECT_EQ(host.gate().circuit(host.now), circuit_state::open);
    EXPECT_EQ(host.gate().room(host.now), 0U);
    EXPECT_EQ(host.gate().free_at(host.now), host.now + 10s);
    EXPECT_EQ(host.only_hold(), hold::reason::destination_circuit);
    host.now += 10s;
    EXPECT_EQ(host.gate().circuit(host.now), circuit_state::half_open);
    EXPECT_EQ(host.gate().room(host.now), 1U);
    host.start();
    EXPECT_EQ(host.gate().room(host.now), 0U);
    EXPECT_EQ(host.only_hold(), hold::reason::destination_circuit);
    host.end(outcome::failed);
    EXPECT_EQ(host.gate().free_at(host.now), host.now + 10s);
    host.now += 10s;
    host.start();
    host.end(outcome::unknown);  // such as a task that was cancelled: another trial
    EXPECT_EQ(host.gate().room(host.now), 1U);
    host.start();
    host.end(outcome::answered);
    EXPECT_EQ(host.gate().circuit(host.now), circuit_state::closed);
    EXPECT_EQ(host.gate().room(host.now), 4U);
}

// Runs that began before the circuit opened end later.
TEST(DestinationGate, LateFailuresDoNotKeepACircuitOpen) {
    played_destination host{{.max_running = 8, .open_after = 2, .open_for = 10s}};
    for (int i = 0; i < 5; ++i) {
        host.start();
    }
    host.end(outcome::failed);
    host.end(outcome::failed);
    const timestamp opened = host.now;
    host.now += 9s;
    host.end(outcome::failed);
    EXPECT_EQ(host.gate().free_at(host.now), opened + 10s);
    host.now += 2s;
    EXPECT_EQ(host.gate().room(host.now), 0U) << "the runs that are left are the trial";
    host.end(outcome::answered);
    EXPECT_EQ(host.gate().circuit(host.now), circuit_state::closed);
    EXPECT_EQ(host.gate().room(host.now), 7U);
}

TEST(DestinationGate, APauseIsKept) {
    played_destination host{{.max_running = 2}};
    host.start();
    host.start();
    host.end(outcome::answered, 5000ms);
    host.end(outcome::answered, 2000ms);  // a shorter one does not end it
    EXPECT_EQ(host.gate().room(host.now), 0U);
    EXPECT_EQ(host.gate().free_at(host.now), host.now + 5s);
    EXPECT_EQ(host.only_hold(), hold::reason::destination_pause);
    host.now += 5s;
    EXPECT_EQ(host.gate().room(host.now), 2U);
}

// Over random starts and ends: no limit is exceeded, a reason is given exactly when there is no
// room, and a destination that is not full has room when it says.
TEST(DestinationGate, RoomHoldsAndTimesAgree) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        std::mt19937 random(seed);
        played_destination host;
        host.limits.max_running = random() % 3 == 0 ? 0 : 1 + random() % 5;
        host.limits.rate = random() % 3 == 0 ? 0 : 0.5 + static_cast<double>(random() % 40);
        host.limits.burst = 1 + random() % 5;
        host.limits.open_after = random() % 3 == 0 ? 0 : 1 + random() % 4;
        host.limits.open_for = std::chrono::milliseconds(100 + random() % 5000);
        std::vector<timestamp> starts;
        for (int step = 0; step < 400; ++step) {
            const std::uint64_t room = host.gate().room(host.now);
            EXPECT_EQ(room == 0, !host.gate().holds(host.now).empty());
            EXPECT_EQ(room == 0, host.gate().is_full() || host.gate().free_at(host.now) > host.now);
            if (room > 0 && random() % 2 == 0) {
                host.start();
                starts.push_back(host.now);
                if (host.limits.max_running > 0) {
                    ASSERT_LE(host.state.running, host.limits.max_running);
                }
            } else if (host.state.running > 0 && random() % 2 == 0) {
                host.end(static_cast<outcome>(random() % 3),
                         std::chrono::milliseconds(random() % 10 == 0 ? random() % 3000 : 0));
            } else if (host.gate().free_at(host.now) > host.now && random() % 2 == 0) {
                host.now = host.gate().free_at(host.now);
                EXPECT_EQ(host.gate().room(host.now) == 0, host.gate().is_full());
            } else {
                host.now += std::chrono::milliseconds(random() % 100);
            }
        }
        if (host.limits.rate > 0) {
            for (std::size_t i = host.limits.burst; i < starts.size(); ++i) {
                const double seconds =
                    std::chrono::duration<double>(starts[i] - starts[i - host.limits.burst])
                        .count();
                ASSERT_GE(seconds * host.limits.rate, 0.999) << "seed " << seed;
            }
        }
    }
}

}  // namespace
