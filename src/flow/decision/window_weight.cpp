// SPDX-License-Identifier: MIT
// The checks that all windows share.

#include "base/option_checks.hpp"

#include <weir/flow/decision/window_weight.hpp>

namespace weir::decision {

void check_window(std::string_view who, const window_limits& limits) {
    if (!(limits.limit > 0 && limits.limit <= 1e9)) {
        detail::throw_bad_option(who, "limit", limits.limit, "a positive number up to 1e+09");
    }
    if (limits.window <= clock::duration::zero() ||
        limits.window > std::chrono::hours(24 * 365 * 9)) {
        detail::throw_bad_option(who, "window", limits.window,
                                 "a time above zero, and below nine years");
    }
}

}  // namespace weir::decision
