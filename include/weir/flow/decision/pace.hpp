// SPDX-License-Identifier: MIT
// The rate of keys: two 64-bit numbers, shared by all keys of a class; each key has one number.
//
// A key's number is the time at which its bucket will be full again (the theoretical arrival time
// of GCRA). Taking tokens advances it by the tokens' worth of time; a request is granted if the
// result is within a burst's worth of time from now. gcra_terms.hpp counts in units that depend on
// the rate; here all classes share one unit, a sixteenth of a nanosecond, since the table of keys
// compares their times. A token's worth is rounded up to that: a rate of r per second is never
// exceeded, and at most r / 16'000'000'000 of it is lost.
#pragma once

#include <weir/clock.hpp>
#include <weir/flow/decision/gcra_terms.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace weir {

// The rate of a key.
using key_rate = decision::gcra_limits;

namespace decision {

class pace {
public:
    static constexpr std::int64_t ticks_per_nanosecond = 16;
    static constexpr std::int64_t longest = std::int64_t{1} << 60;  // more than two years

    // Throws invalid_argument with the name of the owner.
    explicit pace(const key_rate& from, std::string_view owner);

    // The worth of that many tokens, in ticks, from 0 to `longest`.
    std::int64_t cost(double tokens) const noexcept {
        if (tokens == 1) [[likely]] {
            return interval_;
        }
        const double exact = std::ceil(tokens * static_cast<double>(interval_));
        return exact < static_cast<double>(longest) ? static_cast<std::int64_t>(exact) : longest;
    }
    std::int64_t interval() const noexcept { return interval_; }
    std::int64_t burst() const noexcept { return burst_; }
    // Whether the bucket can ever hold that much.
    bool can_ever(std::int64_t cost) const noexcept { return cost <= burst_; }

    // The wait of a request in ticks; zero or less: granted.
    std::int64_t wait(std::int64_t full_at, std::int64_t now, std::int64_t cost) const noexcept {
        return std::max(full_at, now) + cost - now - burst_;
    }

    static clock::duration duration(std::int64_t ticks) noexcept {
        const std::int64_t whole = ticks / ticks_per_nanosecond;
        return clock::duration(whole + (ticks % ticks_per_nanosecond > 0 ? 1 : 0));
    }

private:
    std::int64_t interval_;
    std::int64_t burst_;
};

}  // namespace decision
}  // namespace weir
