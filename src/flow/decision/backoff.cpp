// SPDX-License-Identifier: MIT
// The delay before jitter is a floating-point number of nanoseconds that is multiplied at each step
// and then compared with the maximum in such a way that infinity and NaN exceed it: no exponent is
// large enough to bypass the maximum. The maximum is applied again after jitter.

#include "base/option_checks.hpp"

#include <weir/error.hpp>
#include <weir/flow/decision/backoff.hpp>

#include <cmath>
#include <string>

namespace weir::decision {

using detail::throw_bad_option;

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
        throw_bad_option(owner, "backoff.initial", options.initial, "zero or more");
    }
    if (options.maximum < options.initial) {
        throw_bad_option(owner, "backoff.maximum", options.maximum, "at least backoff.initial");
    }
    if (options.step < zero) {
        throw_bad_option(owner, "backoff.step", options.step, "zero or more");
    }
    if (!(options.factor >= 1) || !std::isfinite(options.factor)) {
        throw_bad_option(owner, "backoff.factor", options.factor, "a number from 1 upwards");
    }
    const double amount = options.jitter.amount();
    switch (options.jitter.which()) {
        case jitter::kind::factor:
            if (!(amount >= 0 && amount <= 1)) {
                throw_bad_option(owner, "backoff.jitter", amount, "a share from 0 to 1");
            }
            break;
        case jitter::kind::duration:
            if (amount < 0) {
                throw_bad_option(owner, "backoff.jitter", amount / 1e9, "zero or more seconds");
            }
            break;
        case jitter::kind::decorrelated:
            if (options.shape != backoff_shape::exponential) {
                throw invalid_argument(
                    std::string(owner) +
                    ": backoff.jitter is decorrelated, which is for exponential backoff alone");
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
