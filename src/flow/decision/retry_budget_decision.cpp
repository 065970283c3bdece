// SPDX-License-Identifier: MIT
// The rare paths of the budgets: option checks, and clearing slots older than the window. A budget
// counts in millionths, so that additions are exact.

#include "base/option_checks.hpp"

#include <weir/flow/decision/retry_budget_decision.hpp>

#include <cmath>

namespace weir::decision {

using detail::throw_bad_option;

namespace {

void check_within(const char* owner, const char* option, double value, double most,
                  const char* must_be) {
    if (!(value >= 0 && value <= most)) {  // also refuses NaN
        throw_bad_option(owner, option, value, must_be);
    }
}

}  // namespace

ratio_budget::ratio_budget(const weir::ratio_budget& options) {
    check_within("ratio_budget", "ratio", options.ratio, 1000, "from 0 to 1000");
    check_within("ratio_budget", "reserve_per_second", options.reserve_per_second, 1e6,
                 "from 0 to a million");
    if (options.window < std::chrono::microseconds(10) || options.window > std::chrono::hours(24)) {
        throw_bad_option("ratio_budget", "window", options.window,
                         "from 10 microseconds to 24 hours");
    }
    const double seconds = std::chrono::duration<double>(options.window).count();
    per_call_ = std::llround(options.ratio * unit);
    // Rounded down: never more than the ratio.
    reserve_ = static_cast<std::int64_t>(options.reserve_per_second * seconds * unit);
    slot_ = options.window / slots;
}

void ratio_budget::turn_slots(clock::time_point now) noexcept {
    if (slot_end_ == clock::time_point::min() || now - slot_end_ >= slot_ * slots) {
        balances_.fill(0);
        balance_ = 0;
        slot_end_ = now + slot_;
        return;
    }
    while (now >= slot_end_) {
        current_ = (current_ + 1) % slots;
        balance_ -= balances_[current_];
        balances_[current_] = 0;
        slot_end_ += slot_;
    }
}

token_budget::token_budget(const weir::token_budget& options)
    : maximum_(options.tokens), per_success_(options.per_success), tokens_(options.tokens) {
    if (!(options.tokens > 0 && options.tokens <= 1e9)) {
        throw_bad_option("token_budget", "tokens", options.tokens, "above 0, up to 1e9");
    }
    check_within("token_budget", "per_success", options.per_success, 1e9, "from 0 to 1e9");
}

in_flight_budget::in_flight_budget(const weir::in_flight_budget& options)
    : share_(options.share), minimum_(options.minimum) {
    check_within("in_flight_budget", "share", options.share, 1000, "from 0 to 1000");
}

}  // namespace weir::decision
