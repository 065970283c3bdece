// SPDX-License-Identifier: MIT
// Checks the options of timeouts.

#include "base/option_checks.hpp"

#include <weir/flow/timeout_policy.hpp>

namespace weir::detail {

void check_time_limit(const char* option, clock::duration limit) {
    if (limit <= clock::duration::zero()) {
        throw_bad_option(option, "limit", limit, "a time above zero");
    }
}

}  // namespace weir::detail
