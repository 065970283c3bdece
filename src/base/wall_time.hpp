// SPDX-License-Identifier: MIT
// Calendar time: the system's, or on a simulated loop a calendar that follows the loop's time.
#pragma once

#include <weir/loop.hpp>

#include <chrono>

namespace weir::detail {

inline std::chrono::sys_time<std::chrono::microseconds> wall_time() {
    using std::chrono::microseconds;
    loop* const current = loop::current_or_null();
    if (current != nullptr && current->get_driver().is_simulated()) {
        constexpr std::chrono::sys_time<microseconds> first =
            std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
        return first + std::chrono::floor<microseconds>(current->now().time_since_epoch());
    }
    return std::chrono::floor<microseconds>(std::chrono::system_clock::now());
}

}  // namespace weir::detail
