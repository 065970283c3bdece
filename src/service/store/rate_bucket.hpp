// SPDX-License-Identifier: MIT
// A token bucket as one number that a store can keep: the time at which it is full again. In every
// interval of length t at most burst + rate * t pass. In nanoseconds, since a thousand a second are
// not whole microseconds apart for all rates.
#pragma once

#include <weir/service/task.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weir::service::detail {

class rate_bucket {
public:
    // rate 0: no limit. full_at in nanoseconds since 1970, 0 for a new one.
    rate_bucket(double rate, std::uint32_t burst, std::int64_t full_at) noexcept
        : full_at_(full_at) {
        if (rate > 0) {
            // Rounded up: never more than the configured rate. Intervals are limited to a year, so
            // that nothing overflows.
            constexpr double longest = 1e9 * 60 * 60 * 24 * 365;
            step_ = static_cast<std::int64_t>(std::ceil(std::min(1e9 / rate, longest)));
            const auto room = std::numeric_limits<std::int64_t>::max() / 4;
            capacity_ = std::min<std::int64_t>(std::max(burst, 1U), room / step_) * step_;
        }
    }

    bool is_limited() const noexcept { return step_ > 0; }
    std::int64_t full_at() const noexcept { return full_at_; }
    // How many may pass now.
    std::uint64_t available(timestamp now) const noexcept {
        if (!is_limited()) {
            return std::numeric_limits<std::uint64_t>::max();
        }
        return static_cast<std::uint64_t>((capacity_ - missing(now)) / step_);
    }
    // As many as are available at most.
    void take(timestamp now, std::uint64_t count) noexcept {
        if (is_limited()) {
            full_at_ = nanoseconds(now) + missing(now) + static_cast<std::int64_t>(count) * step_;
        }
    }
    // When one may pass: now, or later.
    timestamp next(timestamp now) const noexcept {
        const std::int64_t wait = is_limited() ? missing(now) + step_ - capacity_ : 0;
        return wait <= 0 ? now : now + std::chrono::microseconds((wait + 999) / 1000);
    }

private:
    static std::int64_t nanoseconds(timestamp at) noexcept {
        return at.time_since_epoch().count() * 1000;
    }
    // A clock that was set back, or limits that have changed, never make it wait longer than from
    // empty.
    std::int64_t missing(timestamp now) const noexcept {
        return std::clamp<std::int64_t>(full_at_ - nanoseconds(now), 0, capacity_);
    }

    std::int64_t full_at_;
    std::int64_t step_ = 0;      // between two
    std::int64_t capacity_ = 0;  // of the whole burst
};

}  // namespace weir::service::detail
