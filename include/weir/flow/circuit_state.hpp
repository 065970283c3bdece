// SPDX-License-Identifier: MIT
// The states of a circuit breaker, the causes of changes, and its options.
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
    closed,      // calls are admitted and counted
    open,        // calls are refused for a certain time
    half_open,   // a few trial calls are admitted; their endings decide
    recovering,  // closed again, admitting a growing share of the calls
    isolated,    // opened manually: calls are refused until close()
    disabled,    // calls are admitted and not counted
};
std::string_view to_string(circuit_state state) noexcept;

enum class circuit_cause : unsigned char {
    consecutive_failures,
    failure_rate,
    slow_rate,
    stuck_calls,
    trials_failed,
    trials_hung,  // trial calls did not end within max_trial_time
    trials_succeeded,
    time_passed,  // the open time, or the ramp, is over
    by_hand,      // isolate(), disable(), trip(), close(), reset()
};
std::string_view to_string(circuit_cause cause) noexcept;

struct circuit_change {
    circuit_state from;
    circuit_state to;
    circuit_cause cause;
    clock::time_point at;
    clock::duration open_for{};  // if it opens
};

// Each rule that opens the circuit is active if its first member is set. If none is set, five
// consecutive failures open it.
struct circuit_breaker_options {
    using policy_type = circuit_breaker;

    std::string_view name = {};

    // Opens after this many consecutive failures.
    unsigned consecutive_failures = 0;

    // Opens at this share of failed or slow calls in a window: the last window_calls calls or, if
    // window_time is set, the calls of that time, to the accuracy of a bucket. Not before the
    // window has minimum_calls (0: ten, or the whole window if smaller). Only a failed or slow call
    // can open the circuit.
    double failure_rate = 0;
    double slow_rate = 0;
    clock::duration slow_after{};  // a call that takes this long or longer is slow
    unsigned window_calls = 100;
    clock::duration window_time{};
    unsigned window_buckets = 10;
    unsigned minimum_calls = 0;

    // Opens when this many calls have been in flight for stuck_after or longer: calls that hang
    // never have a result to count. Checked whenever a call begins or ends.
    unsigned stuck_calls = 0;
    clock::duration stuck_after{};

    // How long it stays open: open_for, multiplied by open_factor for each further opening since it
    // was last closed, up to max_open_for (but at least open_for). open_time, if set, computes the
    // time instead, up to the same maximum, from the number of openings in a row and the usual
    // time; for jitter, or for another growth.
    clock::duration open_for = std::chrono::seconds(30);
    double open_factor = 1;
    clock::duration max_open_for = std::chrono::minutes(10);
    hook<clock::duration(unsigned openings, clock::duration usual)> open_time = {};

    // Then at most trial_calls are admitted. The circuit closes when the share close_ratio of them
    // has succeeded, and opens again when that is no longer possible. With a rule for slow calls, a
    // slow trial is a failure. Ignored and stopped trials make room for others. If trials have not
    // ended max_trial_time after the last one began, the circuit opens.
    unsigned trial_calls = 1;
    double close_ratio = 1;
    clock::duration max_trial_time = std::chrono::minutes(1);
    // If set, the share of admitted calls grows linearly from none to all over this time after the
    // circuit has closed. Calls are counted as usual meanwhile.
    clock::duration ramp{};

    circuit_state initial = circuit_state::closed;

    // By default errors are failures, and refusals by inner policies are ignored: neither success
    // nor failure. These hooks override that, also for values. Not called for cancellations, which
    // are never counted. Must not throw.
    hook<bool(const outcome_view&)> counts_as_failure = {};
    hook<bool(const outcome_view&)> ignores = {};

    // Called after each change of state. Must not throw.
    hook<void(const circuit_change&)> on_change = {};
    weir::observer* observer = nullptr;
};

}  // namespace weir
