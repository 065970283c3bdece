// SPDX-License-Identifier: MIT
// A rate in the form in which a decision for one of a million keys needs it: two numbers of 64
// bits, shared by all keys of one class, while each key has just one more of its own.
//
// That number is the time at which the key's bucket would be full again if nothing more were taken
// (GCRA's theoretical arrival time). Taking moves it by the tokens' worth of time; a request passes
// if it stays within a burst's worth of now. Times are counted in sixteenths of a nanosecond, and
// what a token is worth is rounded up to that: never more than the rate is let through, and of a
// rate of r per second at most a part of r / 16'000'000'000 less.
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

    // Throws invalid_argument, naming whose options these are.
    explicit pace(const key_rate& from, std::string_view owner);

    // What that many tokens are worth; never less than 0, never more than `longest`.
    std::int64_t cost(double tokens) const noexcept {
        if (tokens == 1) [[likely]] {
            return interval_;
        }
        const double exact = std::ceil(tokens * static_cast<double>(interval_));
        return exact < static_cast<double>(longest) ? static_cast<std::int64_t>(exact) : longest;
    }
    std::int64_t interval() const noexcept { return interval_; }
    std::int64_t burst() const noexcept { return burst_; }
    // A request for more never passes.
    bool can_ever(std::int64_t cost) const noexcept { return cost <= burst_; }

    // For how long the request has to wait; zero or less: it passes.
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
