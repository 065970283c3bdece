// SPDX-License-Identifier: MIT
// The names of states and causes, as messages and metrics show them.

#include <weir/flow/circuit_state.hpp>

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
