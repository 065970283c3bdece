// SPDX-License-Identifier: MIT
// The options of timeouts.

#include <weir/flow/timeout_policy.hpp>

namespace weir::detail {

void check_time_limit(const char* option, clock::duration limit) {
    if (limit <= clock::duration::zero()) {
        throw invalid_argument(std::string(option) + ": a limit of " +
                               std::to_string(limit.count()) + " ns: it must be positive");
    }
}

}  // namespace weir::detail
