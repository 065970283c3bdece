// SPDX-License-Identifier: MIT
// The arithmetic of a token bucket, in integers.
//
// Tokens are counted in *units*, of which at most one arrives per nanosecond. A token is 1, 2 or 5
// times a power of ten units, as many as the rate allows, so decimal fractions of a token are
// integers too. Time is expressed as the number of units that have arrived since the epoch; the
// state of a bucket is the number `full_at`: the time, in units, at which it will be full again.
// Taking tokens advances it. No fractions are added up, so there is no drift: the n-th grant comes
// at the nanosecond at which n tokens have arrived.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/decision/rounding.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace weir::decision {

// `rate` tokens per period, and at most `burst` at once.
struct gcra_limits {
    double rate = 0;
    clock::duration per = std::chrono::seconds(1);
    double burst = 1;
};

class gcra_terms {
public:
    using units = std::int64_t;
    // The state of an unused bucket.
    static constexpr units never_used = std::numeric_limits<units>::min() / 2;
    static constexpr units unaffordable = std::numeric_limits<units>::max() / 4;

    gcra_terms() noexcept = default;
    // Throws invalid_argument for a rate or burst that is not positive, for more than one token per
    // nanosecond, and for a bucket that takes more than nine years to fill.
    explicit gcra_terms(const gcra_limits& limits);

    units units_at(clock::time_point now) const noexcept { return units_of(nanoseconds(now)); }
    // The same for a decision about a bucket in that state. A full bucket loses the incomplete
    // unit; a bucket that is just becoming full does not.
    units units_for(units full_at, clock::time_point now) const noexcept {
        const wide product = static_cast<wide>(nanoseconds(now) - origin_) * speed_;
        const units complete = first_ + static_cast<units>(product >> speed_bits);
        if (full_at >= complete) {
            return complete;
        }
        constexpr wide all_but_one = (static_cast<wide>(1) << speed_bits) - 1;
        return first_ + static_cast<units>((product + all_but_one) >> speed_bits);
    }
    // The cost of a weight, rounded up; `unaffordable` if it is not positive or too large.
    units cost(double weight) const noexcept {
        if (weight == 1) [[likely]] {
            return one_;
        }
        const double exact = weight * static_cast<double>(one_);
        if (!(exact > 0 && exact < static_cast<double>(unaffordable))) {
            return unaffordable;
        }
        return rounded_up(exact);
    }
    // The first nanosecond, from now on, at which that many units have arrived.
    clock::time_point time_of(units awaited, clock::time_point now) const noexcept {
        const units at = units_at(now);
        if (awaited <= at) {
            return now;
        }
        // An estimate that is not too early, and at most a few nanoseconds too late.
        const std::int64_t begin = nanoseconds(now);
        const std::int64_t estimate =
            static_cast<std::int64_t>(static_cast<wide>(awaited - at) * pace_ >> pace_bits);
        std::int64_t when = begin + estimate + 1;
        while (units_of(when - 1) >= awaited) {
            --when;
        }
        return now + clock::duration(when - begin);
    }

    units capacity() const noexcept { return capacity_; }
    double tokens(units count) const noexcept {
        return static_cast<double>(count) / static_cast<double>(one_);
    }
    clock::time_point origin() const noexcept {
        return clock::time_point(clock::duration(origin_));
    }

    // The state after a take at that time (of units_for). Granted if it is at most `capacity`
    // ahead.
    static units after(units full_at, units at, units cost) noexcept {
        return std::max(full_at, at) + cost;
    }
    // The part of a take's cost that has not been refilled: a larger refund would create tokens.
    units left_of(units cost, clock::time_point taken, clock::time_point now) const noexcept {
        if (taken < origin()) {
            return 0;
        }
        const units refilled = now > taken ? units_at(now) - units_at(taken) + 1 : 0;
        return std::max<units>(0, cost - refilled);
    }

    // Adopts a bucket of other terms, which keeps its tokens as far as they fit. Returns its new
    // state, which is later than any state of the old terms.
    units take_over(const gcra_terms& old, units full_at, clock::time_point now) noexcept;

private:
    friend class gcra;
    __extension__ using wide = __int128;
    static constexpr int speed_bits = 62;
    static constexpr int pace_bits = 61;

    units units_of(std::int64_t nanosecond) const noexcept {
        return first_ +
               static_cast<units>(static_cast<wide>(nanosecond - origin_) * speed_ >> speed_bits);
    }

    static std::int64_t nanoseconds(clock::time_point now) noexcept {
        constexpr std::int64_t end = std::int64_t{1} << 61;  // 73 years
        return std::clamp<std::int64_t>(now.time_since_epoch().count(), -end, end);
    }

    std::int64_t origin_ = 0;  // the time that corresponds to first_
    units first_ = 0;
    std::int64_t speed_ = 0;  // units per nanosecond, at most one, times 2^62
    std::int64_t pace_ = 0;   // nanoseconds per unit, times 2^61, rounded up
    units one_ = 1;           // units of a token
    units capacity_ = 0;
};

}  // namespace weir::decision
