// SPDX-License-Identifier: MIT
// Checks a rate and converts it to ticks. The 64-bit mantissa of a long double holds every product
// exactly.

#include "base/option_checks.hpp"

#include <weir/flow/decision/pace.hpp>

namespace weir::decision {

pace::pace(const key_rate& from, std::string_view owner) : interval_(0), burst_(0) {
    using detail::throw_bad_option;
    if (!(from.rate > 0) || std::isinf(from.rate)) {
        throw_bad_option(owner, "rate", from.rate, "a finite number above 0");
    }
    if (from.per <= clock::duration::zero()) {
        throw_bad_option(owner, "per", from.per, "a time above 0");
    }
    if (!(from.burst >= 1) || std::isinf(from.burst)) {
        throw_bad_option(owner, "burst", from.burst, "a finite number from 1 on");
    }
    const long double per = static_cast<long double>(from.per.count()) * ticks_per_nanosecond;
    if (per < static_cast<long double>(from.rate)) {
        throw_bad_option(owner, "rate", from.rate, "at most 16 for each nanosecond of `per`");
    }
    const long double interval = std::ceil(per / static_cast<long double>(from.rate));
    const long double whole = interval * static_cast<long double>(from.burst);
    if (!(whole < static_cast<long double>(longest))) {
        throw_bad_option(owner, "burst", from.burst, "at most what the rate brings in two years");
    }
    interval_ = static_cast<std::int64_t>(interval);
    burst_ = static_cast<std::int64_t>(whole);
}

}  // namespace weir::decision
