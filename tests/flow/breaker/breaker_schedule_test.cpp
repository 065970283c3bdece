// SPDX-License-Identifier: MIT
// The breaker under random schedules, failures, cancellations and timeouts: never more trials under
// way than permitted, and no slot is ever lost.

#include "support.hpp"

#include <weir/group.hpp>
#include <weir/timeout.hpp>

namespace flow_breaker {
namespace {

TEST(BreakerSchedules, TrialsAreBoundedAndNoSlotIsLost) {
    auto body = []() -> task<> {
        std::mt19937 random(static_cast<unsigned>(weir::testing::current_seed()) * 7919 + 1);
        const auto below = [&](unsigned end) { return random() % end; };
        const unsigned permitted = 1 + below(3);
        circuit_breaker breaker({.consecutive_failures = 2,
                                 .stuck_calls = below(2) == 0 ? 3u : 0u,
                                 .stuck_after = 20ms,
                                 .open_for = 5ms,
                                 .trial_calls = permitted,
                                 .max_trial_time = 1h});
        unsigned trials = 0;  // of the half-open era that is
        std::uint64_t openings = 0;
        auto call = [&]() -> task<> {
            const bool is_trial = breaker.stats().state == circuit_state::half_open;
            if (is_trial) {
                if (openings != breaker.stats().openings) {
                    openings = breaker.stats().openings;
                    trials = 0;
                }
                ++trials;
                EXPECT_LE(trials, permitted);
            }
            struct leave {
                unsigned& trials;
                bool is_trial;
                circuit_breaker& breaker;
                std::uint64_t era;
                bool finished = false;
                ~leave() {
                    const bool same_era = breaker.stats().openings == era &&
                                          breaker.stats().state == circuit_state::half_open;
                    if (is_trial && !finished && same_era) {
                        --trials;  // stopped: the slot is free again
                    }
                }
            } at_end{trials, is_trial, breaker, breaker.stats().openings};
            co_await weir::sleep(std::chrono::milliseconds(below(4)));
            at_end.finished = true;
            if (below(2) == 0) {
                throw unavailable();
            }
        };
        auto user = [&]() -> task<> {
            for (int i = 0; i < 12; ++i) {
                try {
                    const outcome<> ended = co_await weir::timeout(
                        std::chrono::milliseconds(1 + below(6)), breaker.settle(call));
                    if (ended.is_refused()) {
                        co_await weir::sleep(1ms);
                    }
                } catch (const weir::timed_out&) {
                }
            }
        };
        std::vector<handle<>> users;
        for (int i = 0; i < 6; ++i) {
            users.push_back(weir::spawn(user));
        }
        for (int i = 0; i < 4; ++i) {
            co_await weir::sleep(std::chrono::milliseconds(below(8)));
            users[below(6)].cancel();
        }
        for (auto& each : users) {
            co_await each.wait();
        }
        EXPECT_EQ(breaker.stats().in_flight(), 0u);
        // After every schedule, the breaker works again.
        for (int i = 0; i < 10 && breaker.state() != circuit_state::closed; ++i) {
            co_await weir::sleep(5ms);
            const outcome<int> ended = co_await breaker.settle(succeed);
            EXPECT_TRUE(ended.has_value() || ended.is_refused());
        }
        EXPECT_EQ(breaker.state(), circuit_state::closed);
    };
    weir::testing::explore_options options;
    options.schedules = 1000;
    const weir::testing::exploration result = weir::testing::explore(body, options);
    EXPECT_FALSE(result.failed) << "schedule " << result.seed << "\n" << result.text();
}

}  // namespace
}  // namespace flow_breaker
