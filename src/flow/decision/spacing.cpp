// SPDX-License-Identifier: MIT
// Checks the options of a leaky bucket; the decision itself is inline.

#include "base/option_checks.hpp"

#include <weir/flow/decision/spacing.hpp>

namespace weir::decision {

const spacing_limits& spacing::checked(const spacing_limits& given) {
    if (given.interval <= clock::duration::zero() ||
        given.interval > std::chrono::hours(24 * 366)) {
        weir::detail::throw_bad_option("leaky_bucket", "interval", given.interval,
                                       "a time above zero, up to a year");
    }
    return given;
}

}  // namespace weir::decision
