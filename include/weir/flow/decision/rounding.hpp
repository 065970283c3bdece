// SPDX-License-Identifier: MIT
// Amounts that limiters count in integers, from the numbers that users give.
#pragma once

#include <cstdint>

namespace weir::decision {

// The errors of the arithmetic that an amount may contain, as a share of it: 0.1 + 0.2 is not 0.3.
constexpr double arithmetic_error = 1e-12;

// Rounded up, but for those errors: every positive amount counts. Up to 2^62.
constexpr std::int64_t rounded_up(double amount) noexcept {
    const auto below = static_cast<std::int64_t>(amount);
    return below + (amount - static_cast<double>(below) > amount * arithmetic_error ? 1 : 0);
}

}  // namespace weir::decision
