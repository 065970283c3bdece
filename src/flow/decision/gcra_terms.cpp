// SPDX-License-Identifier: MIT
// Converts rates to integers.
//
// A rate is read as the decimal number that the user wrote (0.3, not the nearest binary fraction),
// and the unit is as small as the clock allows. At most one unit arrives per nanosecond, so every
// number of units is reached exactly at some nanosecond: a bucket of one token does not lose a
// fraction of a nanosecond at each grant.

#include "base/option_checks.hpp"

#include <weir/flow/decision/gcra_terms.hpp>

#include <charconv>
#include <cmath>

namespace weir::decision {

namespace {

// The shortest decimal number that reads as this double, as a long double.
long double as_written(double value) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    long double exact = value;
    std::from_chars(text, end, exact);
    return exact;
}

}  // namespace

gcra_terms::gcra_terms(const gcra_limits& limits) {
    constexpr std::string_view owner = "token_bucket";
    if (!detail::is_positive(limits.rate)) {
        detail::throw_bad_option(owner, "rate", limits.rate, "a positive number of tokens");
    }
    if (limits.per <= clock::duration::zero()) {
        detail::throw_bad_option(owner, "per", limits.per, "a time above zero");
    }
    if (!detail::is_positive(limits.burst)) {
        detail::throw_bad_option(owner, "burst", limits.burst, "a positive number of tokens");
    }
    const long double rate = as_written(limits.rate);
    const long double period = static_cast<long double>(limits.per.count());
    if (rate > period) {
        detail::throw_bad_option(owner, "rate", limits.rate,
                                 "at most one token each nanosecond: count larger pieces");
    }
    constexpr long double most = static_cast<long double>(units{1} << 58);  // nine years
    if (period / rate > most) {
        detail::throw_bad_option(owner, "rate", limits.rate, "at least one token in nine years");
    }
    one_ = 1;
    constexpr units steps[] = {2, 5, 10};
    for (units tens = 1;; tens *= 10) {
        units fitting = tens;
        for (const units step : steps) {
            if (rate * static_cast<long double>(tens * step) <= period) {
                fitting = tens * step;
            }
        }
        one_ = fitting;
        if (fitting != tens * 10) {
            break;
        }
    }
    const long double speed = rate * static_cast<long double>(one_) / period;
    speed_ = static_cast<std::int64_t>(std::ceil(std::ldexp(speed, speed_bits)));
    const wide one = static_cast<wide>(1) << (speed_bits + pace_bits);
    pace_ = static_cast<std::int64_t>((one + speed_ - 1) / speed_);
    if (limits.burst * static_cast<double>(one_) > static_cast<double>(most)) {
        detail::throw_bad_option(owner, "burst", limits.burst,
                                 "so small that the bucket fills within nine years");
    }
    capacity_ = cost(limits.burst);
}

gcra_terms::units gcra_terms::take_over(const gcra_terms& old, units full_at,
                                        clock::time_point now) noexcept {
    const units at = old.units_at(now);
    const units missing = std::max<units>(0, full_at - at);
    const double held = old.tokens(old.capacity_ - missing);
    origin_ = nanoseconds(now);
    // A state of the old terms must never be mistaken for one of the new terms.
    first_ = std::max(full_at, at) + 1;
    if (first_ > (units{1} << 60)) {
        first_ = 0;
    }
    // Rounded down: a change never adds tokens.
    const auto kept =
        static_cast<units>(std::floor(held * static_cast<double>(one_) * (1 + arithmetic_error)));
    return first_ + std::max<units>(0, capacity_ - kept);
}

}  // namespace weir::decision
