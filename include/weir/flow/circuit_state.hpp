// SPDX-License-Identifier: MIT
// What a circuit breaker can be in, why it changes, and its options.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/hook.hpp>
#include <weir/flow/outcome_view.hpp>
#include <weir/flow/telemetry.hpp>

#include <cstdint>
#include <string_view>

namespace weir {

class circuit_breaker;

enum class circuit_state : unsigned char {
    closed,      // calls pass, and are counted
    open,        // calls are refused until a certain time
    half_open,   // a few trial calls pass; how they end decides
    recovering,  // closed again, and letting in a growing share of the calls
    isolated,    // opened by hand: calls are refused until somebody closes it
    disabled,    // calls pass and are not counted
};
std::string_view to_string(circuit_state state) noexcept;

enum class circuit_cause : unsigned char {
    consecutive_failures,
    failure_rate,
    slow_rate,
    stuck_calls,
    trials_failed,
    trials_hung,  // trial calls did not end in time
    trials_succeeded,
    time_passed,  // the open time, or the ramp, is over
    by_hand,
};
std::string_view to_string(circuit_cause cause) noexcept;

struct circuit_change {
    circuit_state from;
    circuit_state to;
    circuit_cause cause;
    clock::time_point at;
    clock::duration open_for{};  // if it has opened
};

// Which rules there are to open it is up to the options: each is on when its first member is set.
// With none set, five failures in a row open it.
struct circuit_breaker_options {
    using policy_type = circuit_breaker;

    std::string_view name = {};

    // So many failures in a row.
    unsigned consecutive_failures = 0;

    // A share of failed or of slow calls among those of a window: the last so many calls or, if
    // window_time is set, those of the last so much time, to the accuracy of a bucket. Not before
    // the window has minimum_calls (0: ten, or the whole window if that is smaller). Only a call
    // that fails or is slow can open the circuit.
    double failure_rate = 0;
    double slow_rate = 0;
    clock::duration slow_after{};  // slow: has taken so long or longer
    unsigned window_calls = 100;
    clock::duration window_time{};
    unsigned window_buckets = 10;
    unsigned minimum_calls = 0;

    // So many calls under way, each for so long or longer: where calls hang, no result ever comes
    // that could be counted. Looked at whenever a call begins or ends.
    unsigned stuck_calls = 0;
    clock::duration stuck_after{};

    // How long it stays open: open_for, times open_factor for each opening since it was last
    // closed, up to max_open_for (but no less than open_for). open_time, if given, has the last
    // word, up to the same maximum: it is told how many openings there were in a row, and what
    // comes out without it. For jitter, or for another law.
    clock::duration open_for = std::chrono::seconds(30);
    double open_factor = 1;
    clock::duration max_open_for = std::chrono::minutes(10);
    hook<clock::duration(unsigned openings, clock::duration usual)> open_time = {};

    // Then so many trial calls are let through, at most; it closes when the share of them that must
    // succeed has succeeded, and opens again when that can no longer be. A slow trial has not
    // succeeded, if there is a rule for slow calls. Trials that are ignored or stopped make room
    // for others. When all have begun and max_trial_time has passed since, they hang: it opens.
    unsigned trial_calls = 1;
    double close_ratio = 1;
    clock::duration max_trial_time = std::chrono::minutes(1);
    // If set, the share of calls let in grows from nothing to all of them over this time, evenly:
    // of each hundred calls at half time, every second. Calls are counted as ever meanwhile.
    clock::duration ramp{};

    circuit_state initial = circuit_state::closed;

    // Errors are failures; refusals by policies further inside are ignored: neither success nor
    // failure. These decide otherwise, also about values. Cancellations are never counted, and not
    // asked about. Must not throw.
    hook<bool(const outcome_view&)> counts_as_failure = {};
    hook<bool(const outcome_view&)> ignores = {};

    // Told about each change, after it. Must not throw.
    hook<void(const circuit_change&)> on_change = {};
    weir::observer* observer = nullptr;
};

}  // namespace weir
