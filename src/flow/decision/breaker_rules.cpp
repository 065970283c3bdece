// SPDX-License-Identifier: MIT
// The options of the circuit breaker are checked once, when it is made; and its words.

#include "flow/decision/breaker_rules.hpp"

#include "base/option_checks.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace weir::decision {

namespace {

void check(bool right, std::string_view option, const std::string& value, std::string_view what) {
    if (!right) {
        detail::bad_option("circuit_breaker", option, value, what);
    }
}
void check_share(double share, std::string_view option) {
    check(share >= 0 && share <= 1, option, detail::in_words(share), "must be from 0 to 1");
}
void check_time(clock::duration time, std::string_view option) {
    check(time.count() >= 0, option, detail::in_words(time), "must not be negative");
}
void check_set(clock::duration time, std::string_view option, std::string_view why) {
    check(time.count() > 0, option, detail::in_words(time), why);
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
        check_set(rules.slow_after, "slow_after", "must be positive where slow_rate is set");
    }
    if (rules.stuck_calls > 0) {
        check_set(rules.stuck_after, "stuck_after", "must be positive where stuck_calls is set");
    }
    check_set(rules.open_for, "open_for", "must be positive");
    check_set(rules.max_open_for, "max_open_for", "must be positive");
    check_set(rules.max_trial_time, "max_trial_time", "must be positive");
    check(rules.open_factor >= 1 && std::isfinite(rules.open_factor), "open_factor",
          detail::in_words(rules.open_factor), "must be 1 or more, and finite");
    check(rules.close_ratio > 0 && rules.close_ratio <= 1, "close_ratio",
          detail::in_words(rules.close_ratio), "must be above 0, and 1 at most");
    check(rules.trial_calls > 0, "trial_calls", "0", "must be positive");
    check(rules.initial != circuit_state::recovering && rules.initial <= circuit_state::disabled,
          "initial", std::string(to_string(rules.initial)), "which no breaker can begin with");

    const bool has_window = rules.failure_rate > 0 || rules.slow_rate > 0;
    if (has_window) {
        constexpr unsigned most = 1u << 24;
        const bool by_time = rules.window_time.count() > 0;
        const unsigned size = by_time ? rules.window_buckets : rules.window_calls;
        check(size > 0 && size <= most, by_time ? "window_buckets" : "window_calls",
              std::to_string(size), "must be from 1 to 16777216");
        const unsigned calls = by_time ? 10 : std::min(10u, rules.window_calls);
        rules.minimum_calls = rules.minimum_calls == 0 ? calls : rules.minimum_calls;
        check(by_time || rules.minimum_calls <= rules.window_calls, "minimum_calls",
              std::to_string(rules.minimum_calls), "more than window_calls: it would never open");
    } else if (rules.consecutive_failures == 0 && rules.stuck_calls == 0) {
        rules.consecutive_failures = 5;
    }
    return rules;
}

}  // namespace weir::decision

namespace weir {

std::string_view to_string(circuit_state state) noexcept {
    switch (state) {
        case circuit_state::closed:
            return "closed";
        case circuit_state::open:
            return "open";
        case circuit_state::half_open:
            return "half-open";
        case circuit_state::recovering:
            return "recovering";
        case circuit_state::isolated:
            return "isolated";
        case circuit_state::disabled:
            return "disabled";
    }
    return "unknown";
}

std::string_view to_string(circuit_cause cause) noexcept {
    switch (cause) {
        case circuit_cause::consecutive_failures:
            return "consecutive failures";
        case circuit_cause::failure_rate:
            return "failure rate";
        case circuit_cause::slow_rate:
            return "rate of slow calls";
        case circuit_cause::stuck_calls:
            return "calls stuck in flight";
        case circuit_cause::trials_failed:
            return "trial calls failed";
        case circuit_cause::trials_hung:
            return "trial calls hung";
        case circuit_cause::trials_succeeded:
            return "trial calls succeeded";
        case circuit_cause::time_passed:
            return "time passed";
        case circuit_cause::by_hand:
            return "by hand";
    }
    return "unknown";
}

}  // namespace weir
