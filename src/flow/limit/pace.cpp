// SPDX-License-Identifier: MIT
// Checks a rate and turns it into ticks, with long double: 64 bits of mantissa hold every product
// here.

#include "base/option_checks.hpp"

#include <weir/flow/decision/pace.hpp>

namespace weir::decision {

pace::pace(const key_rate& from, std::string_view owner) : interval_(0), burst_(0) {
    using detail::bad_option;
    using detail::in_words;
    if (!(from.rate > 0) || std::isinf(from.rate)) {
        bad_option(owner, "rate", in_words(from.rate), "but must be a finite number above 0");
    }
    if (from.per <= clock::duration::zero()) {
        bad_option(owner, "per", in_words(from.per), "but must be a time above 0");
    }
    if (!(from.burst >= 1) || std::isinf(from.burst)) {
        bad_option(owner, "burst", in_words(from.burst), "but must be a finite number from 1 on");
    }
    const long double per = static_cast<long double>(from.per.count()) * ticks_per_nanosecond;
    if (per < static_cast<long double>(from.rate)) {
        bad_option(owner, "rate", in_words(from.rate),
                   "but must be at most 16 for each nanosecond of `per`");
    }
    const long double interval = std::ceil(per / static_cast<long double>(from.rate));
    const long double whole = interval * static_cast<long double>(from.burst);
    if (!(whole < static_cast<long double>(longest))) {
        bad_option(owner, "burst", in_words(from.burst),
                   "but must be no more than the rate brings in two years");
    }
    interval_ = static_cast<std::int64_t>(interval);
    burst_ = static_cast<std::int64_t>(whole);
}

}  // namespace weir::decision
