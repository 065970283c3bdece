// SPDX-License-Identifier: MIT
// The delay before jitter is kept as a floating-point number of nanoseconds and multiplied from one
// step to the next. It is compared with the maximum after every step, in such a way that infinity and
// what is no number count as too much, so no exponent is large enough to get round the maximum. The
// maximum is applied once more after jitter, to the number that is handed out.

#include "flow/option_checks.hpp"

#include <weir/flow/decision/backoff.hpp>

#include <cmath>

namespace weir::decision {

using detail::bad_option;
using detail::in_words;

backoff::backoff(const backoff_options& options) noexcept
    : options_(&options), maximum_(static_cast<double>(options.maximum.count())) {
    restart();
}

void backoff::restart() noexcept {
    delay_ = static_cast<double>(options_->initial.count());
}

void backoff::check(const backoff_options& options, const char* owner) {
    constexpr clock::duration zero{};
    if (options.initial < zero) {
        bad_option(owner, "backoff.initial", in_words(options.initial),
                   "but nobody can wait for less than no time");
    }
    if (options.maximum < options.initial) {
        bad_option(owner, "backoff.maximum", in_words(options.maximum),
                   "which is less than backoff.initial, " + in_words(options.initial));
    }
    if (options.step < zero) {
        bad_option(owner, "backoff.step", in_words(options.step), "it must not be negative");
    }
    if (!(options.factor >= 1) || !std::isfinite(options.factor)) {
        bad_option(owner, "backoff.factor", in_words(options.factor),
                   "it must be a number from 1 upwards");
    }
    const double amount = options.jitter.amount();
    switch (options.jitter.which()) {
        case jitter::kind::factor:
            if (!(amount >= 0 && amount <= 1)) {
                bad_option(owner, "backoff.jitter", in_words(amount),
                           "the share must be from 0 to 1");
            }
            break;
        case jitter::kind::duration:
            if (amount < 0) {
                bad_option(owner, "backoff.jitter", in_words(amount / 1e9) + " s",
                           "it must not be negative");
            }
            break;
        case jitter::kind::decorrelated:
            if (options.shape != backoff_shape::exponential) {
                bad_option(owner, "backoff.jitter", "decorrelated",
                           "which is for exponential backoff alone");
            }
            break;
        default:
            break;
    }
}

clock::duration backoff::next(random_source& random) noexcept {
    const double wanted = spread(delay_, random);
    if (options_->jitter.which() == jitter::kind::decorrelated) {
        delay_ = wanted < maximum_ ? wanted : maximum_;
    } else {
        grow();
    }
    if (!(wanted < maximum_)) {
        return options_->maximum;
    }
    return wanted > 0 ? clock::duration(static_cast<clock::rep>(wanted)) : clock::duration::zero();
}

double backoff::spread(double delay, random_source& random) const noexcept {
    const double amount = options_->jitter.amount();
    switch (options_->jitter.which()) {
        case jitter::kind::none:
            break;
        case jitter::kind::full:
            return delay * random.next_fraction();
        case jitter::kind::equal:
            return delay * (0.5 + 0.5 * random.next_fraction());
        case jitter::kind::decorrelated: {
            const auto least = static_cast<double>(options_->initial.count());
            return least + (3 * delay - least) * random.next_fraction();
        }
        case jitter::kind::duration:
            return delay + amount * (2 * random.next_fraction() - 1);
        case jitter::kind::factor:
            return delay * (1 + amount * (2 * random.next_fraction() - 1));
    }
    return delay;
}

void backoff::grow() noexcept {
    switch (options_->shape) {
        case backoff_shape::constant:
            return;
        case backoff_shape::linear: {
            const clock::duration step =
                options_->step > clock::duration::zero() ? options_->step : options_->initial;
            delay_ += static_cast<double>(step.count());
            break;
        }
        case backoff_shape::exponential:
            delay_ *= options_->factor;
            break;
    }
    if (!(delay_ < maximum_)) {
        delay_ = maximum_;
    }
}

}  // namespace weir::decision
