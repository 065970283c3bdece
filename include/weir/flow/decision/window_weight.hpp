// SPDX-License-Identifier: MIT
// Weights of windows in millionths, so that sums of fractions are exact; and the limits of windows.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/decision/rounding.hpp>

#include <cstdint>
#include <string_view>

namespace weir::decision {

// At most `limit` in a window of that length.
struct window_limits {
    double limit = 0;
    clock::duration window = std::chrono::seconds(1);
};

using millionths = std::int64_t;
// Above any limit.
constexpr millionths too_much_weight = std::int64_t{1} << 62;

// Rounded up. too_much_weight unless the weight is a positive number.
constexpr millionths in_millionths(double weight) noexcept {
    if (weight == 1) [[likely]] {
        return 1'000'000;
    }
    const double exact = weight * 1e6;
    if (!(exact > 0 && exact < static_cast<double>(too_much_weight))) {
        return too_much_weight;
    }
    return rounded_up(exact);
}

// Throws invalid_argument unless the limit is positive and at most a billion, and the window above
// zero and at most nine years.
void check_window(std::string_view owner, const window_limits& limits);

}  // namespace weir::decision
