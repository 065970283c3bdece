// SPDX-License-Identifier: MIT
// The loop's clock: steady, in nanoseconds; real or simulated.
#pragma once

#include <chrono>
#include <cmath>
#include <concepts>

namespace weir {

struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;
    static time_point now();  // of the running loop
};

namespace detail {

[[noreturn]] void throw_not_a_number();

// Any duration as nanoseconds: rounded up, clamped instead of overflowing, NaN refused.
template <class Rep, class Period>
clock::duration to_nanoseconds(std::chrono::duration<Rep, Period> given) {
    using seconds = std::chrono::duration<long double>;
    if constexpr (std::floating_point<Rep>) {
        if (std::isnan(given.count())) {
            throw_not_a_number();
        }
    }
    constexpr long double limit = 9.2e9L;  // seconds; int64 nanoseconds end at 9.22e9
    const long double approximate = std::chrono::duration_cast<seconds>(given).count();
    if (approximate > limit) {
        return clock::duration::max();
    }
    if (approximate < -limit) {
        return clock::duration::min();
    }
    return std::chrono::ceil<clock::duration>(given);
}

// A point in time that far from now, or the end of time.
inline clock::time_point after(clock::time_point now, clock::duration delay) noexcept {
    if (now.time_since_epoch().count() > 0 && delay > clock::time_point::max() - now) {
        return clock::time_point::max();
    }
    return now + delay;
}

}  // namespace detail
}  // namespace weir
