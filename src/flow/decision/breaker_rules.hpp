// SPDX-License-Identifier: MIT
// What the options of a circuit breaker come to.
#pragma once

#include <weir/flow/circuit_state.hpp>

namespace weir::decision {

// With the defaults filled in. Throws invalid_argument for what makes no sense.
circuit_breaker_options checked_rules(circuit_breaker_options rules);

}  // namespace weir::decision
