// SPDX-License-Identifier: MIT
// How long a driver on the real clock waits.
//
// Under a storm of timers the waits are spaced: one that follows a timer's wake-up lasts at least
// `quantum`, so that timers a few microseconds apart share a system call. A lone timer is not
// delayed.
#pragma once

#include <weir/driver.hpp>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace weir::detail {

inline std::int64_t monotonic_nanoseconds() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

class wait_pacing {
public:
    static constexpr std::int64_t for_ever = -1;

    // Nanoseconds until the deadline; 0 polls.
    std::int64_t pause_until(std::int64_t deadline) const noexcept {
        if (deadline == 0 || deadline == driver::forever) {
            return deadline == 0 ? 0 : for_ever;
        }
        const std::int64_t start = monotonic_nanoseconds();
        const std::int64_t pause = std::max<std::int64_t>(deadline - start, 0);
        const std::int64_t since_timer = start - woken_by_timer_;
        return pause > 0 && since_timer < quantum ? std::max(pause, quantum - since_timer) : pause;
    }
    // The wait has lasted as long as it might.
    void timer_woke() noexcept { woken_by_timer_ = monotonic_nanoseconds(); }

private:
    static constexpr std::int64_t quantum = 200'000;
    std::int64_t woken_by_timer_ = INT64_MIN / 2;
};

}  // namespace weir::detail
