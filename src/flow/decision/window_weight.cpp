// SPDX-License-Identifier: MIT
// The option checks of all windows.

#include "base/option_checks.hpp"

#include <weir/flow/decision/window_weight.hpp>

namespace weir::decision {

void check_window(std::string_view owner, const window_limits& limits) {
    if (!(limits.limit > 0 && limits.limit <= 1e9)) {
        detail::throw_bad_option(owner, "limit", limits.limit, "a positive number up to 1e+09");
    }
    if (limits.window <= clock::duration::zero() ||
        limits.window > std::chrono::hours(24 * 365 * 9)) {
        detail::throw_bad_option(owner, "window", limits.window,
                                 "a time above zero, and below nine years");
    }
}

}  // namespace weir::decision
