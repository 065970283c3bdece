// SPDX-License-Identifier: MIT
// The options of a circuit breaker: invalid ones are refused with the name of the option.

#include "support.hpp"

#include <limits>

namespace flow_breaker {
namespace {

void expect_refused(const circuit_breaker_options& options, const std::string& words) {
    try {
        circuit_breaker made(options);
        ADD_FAILURE() << "accepted, and should say: " << words;
    } catch (const weir::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(CircuitState, RefusesInvalidShares) {
    expect_refused({.failure_rate = -0.1}, "failure_rate is -0.1; it must be from 0 to 1");
    expect_refused({.failure_rate = 50}, "failure_rate is 50");
    expect_refused({.failure_rate = nan}, "failure_rate is nan");
    expect_refused({.slow_rate = 1.5, .slow_after = 1s}, "slow_rate is 1.5");
    expect_refused({.slow_rate = nan, .slow_after = 1s}, "slow_rate is nan");
    expect_refused({.close_ratio = 0}, "close_ratio is 0");
    expect_refused({.close_ratio = 1.01}, "close_ratio is 1.01");
    expect_refused({.close_ratio = nan}, "close_ratio is nan");
}

TEST(CircuitState, RefusesInvalidTimes) {
    expect_refused({.open_for = 0s}, "open_for is 0 s; it must be positive");
    expect_refused({.open_for = -1s}, "open_for is -1 s");
    expect_refused({.max_open_for = 0s}, "max_open_for is 0 s");
    expect_refused({.max_trial_time = -1s}, "max_trial_time is -1 s");
    expect_refused({.ramp = -1s}, "ramp is -1 s");
    expect_refused({.window_time = -1s}, "window_time is -1 s");
    expect_refused({.slow_rate = 0.5}, "slow_after is 0 s");
    expect_refused({.slow_rate = 0.5, .slow_after = -1s}, "slow_after is -1 s");
    expect_refused({.stuck_calls = 3}, "stuck_after is 0 s");
    expect_refused({.stuck_calls = 3, .stuck_after = -1s}, "stuck_after is -1 s");
    expect_refused({.open_factor = 0.5}, "open_factor is 0.5");
    expect_refused({.open_factor = nan}, "open_factor is nan");
    expect_refused({.open_factor = infinity}, "open_factor is inf");
}

TEST(CircuitState, RefusesInvalidCounts) {
    expect_refused({.trial_calls = 0}, "trial_calls is 0; it must be positive");
    expect_refused({.failure_rate = 0.5, .window_calls = 0}, "window_calls is 0");
    expect_refused({.failure_rate = 0.5, .window_calls = 1u << 30}, "window_calls is 1073741824");
    expect_refused({.failure_rate = 0.5, .window_time = 1s, .window_buckets = 0},
                   "window_buckets is 0");
    expect_refused({.failure_rate = 0.5, .window_calls = 5, .minimum_calls = 6},
                   "minimum_calls is 6; it must be at most window_calls");
    expect_refused({.initial = circuit_state::recovering}, "initial is recovering");
}

TEST(CircuitState, ASmallWindowNeedsNoMinimum) {
    weir::decision::breaker small({.failure_rate = 1, .window_calls = 2});
    for (int i = 0; i < 2; ++i) {
        small.end(small.begin({}).pass(), weir::decision::breaker::verdict::failure, {});
    }
    EXPECT_EQ(small.state({}), circuit_state::open);
}

TEST(CircuitState, StatesAndCausesHaveNames) {
    EXPECT_EQ(to_string(circuit_state::half_open), "half-open");
    EXPECT_EQ(to_string(circuit_state::isolated), "isolated");
    EXPECT_EQ(to_string(weir::circuit_cause::failure_rate), "failure rate");
    EXPECT_EQ(to_string(weir::circuit_cause::by_hand), "by hand");
}

}  // namespace
}  // namespace flow_breaker
