// SPDX-License-Identifier: MIT
// The checked options of a circuit breaker.
#pragma once

#include <weir/flow/circuit_state.hpp>

namespace weir::decision {

// The options with defaults filled in. Throws invalid_argument for invalid options.
circuit_breaker_options checked_rules(circuit_breaker_options rules);

}  // namespace weir::decision
