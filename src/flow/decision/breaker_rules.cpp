// SPDX-License-Identifier: MIT
// Checks the options of a circuit breaker, once, when it is constructed.

#include "flow/decision/breaker_rules.hpp"

#include "base/option_checks.hpp"

#include <algorithm>
#include <cmath>

namespace weir::decision {

namespace {

template <class Value>
void check(bool is_valid, std::string_view option, Value value, std::string_view must_be) {
    if (!is_valid) {
        detail::throw_bad_option("circuit_breaker", option, value, must_be);
    }
}
void check_share(double share, std::string_view option) {
    check(share >= 0 && share <= 1, option, share, "from 0 to 1");
}
void check_time(clock::duration time, std::string_view option) {
    check(time.count() >= 0, option, time, "zero or more");
}
void check_positive(clock::duration time, std::string_view option, std::string_view must_be) {
    check(time.count() > 0, option, time, must_be);
}

}  // namespace

circuit_breaker_options checked_rules(circuit_breaker_options rules) {
    check_share(rules.failure_rate, "failure_rate");
    check_share(rules.slow_rate, "slow_rate");
    check_time(rules.slow_after, "slow_after");
    check_time(rules.window_time, "window_time");
    check_time(rules.stuck_after, "stuck_after");
    check_time(rules.ramp, "ramp");
    if (rules.slow_rate > 0) {
        check_positive(rules.slow_after, "slow_after", "positive if slow_rate is set");
    }
    if (rules.stuck_calls > 0) {
        check_positive(rules.stuck_after, "stuck_after", "positive if stuck_calls is set");
    }
    check_positive(rules.open_for, "open_for", "positive");
    check_positive(rules.max_open_for, "max_open_for", "positive");
    check_positive(rules.max_trial_time, "max_trial_time", "positive");
    check(rules.open_factor >= 1 && std::isfinite(rules.open_factor), "open_factor",
          rules.open_factor, "finite and at least 1");
    check(rules.close_ratio > 0 && rules.close_ratio <= 1, "close_ratio", rules.close_ratio,
          "above 0 and at most 1");
    check(rules.trial_calls > 0, "trial_calls", rules.trial_calls, "positive");
    check(rules.initial != circuit_state::recovering && rules.initial <= circuit_state::disabled,
          "initial", to_string(rules.initial), "a state that a breaker can start in");

    const bool has_window = rules.failure_rate > 0 || rules.slow_rate > 0;
    if (has_window) {
        constexpr unsigned most = 1u << 24;
        const bool by_time = rules.window_time.count() > 0;
        const unsigned size = by_time ? rules.window_buckets : rules.window_calls;
        check(size > 0 && size <= most, by_time ? "window_buckets" : "window_calls", size,
              "from 1 to 16777216");
        const unsigned calls = by_time ? 10 : std::min(10u, rules.window_calls);
        rules.minimum_calls = rules.minimum_calls == 0 ? calls : rules.minimum_calls;
        check(by_time || rules.minimum_calls <= rules.window_calls, "minimum_calls",
              rules.minimum_calls, "at most window_calls, or the breaker never opens");
    } else if (rules.consecutive_failures == 0 && rules.stuck_calls == 0) {
        rules.consecutive_failures = 5;
    }
    return rules;
}

}  // namespace weir::decision
