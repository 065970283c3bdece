// SPDX-License-Identifier: MIT
// backoff: the sequence of delays between attempts.
//
//     .backoff = {.initial = 100ms, .maximum = 10s, .jitter = weir::jitter::full()}
//     .backoff = weir::constant_backoff(1s)
//
// The maximum applies to the final delay, after jitter.
#pragma once

#include <weir/base/random.hpp>
#include <weir/clock.hpp>

namespace weir {

enum class backoff_shape : unsigned char {
    constant,     // initial, initial, initial
    linear,       // initial, plus step each time
    exponential,  // initial, times factor each time
};

// Randomises delays, so that callers that failed together do not retry together.
class jitter {
public:
    enum class kind : unsigned char { none, full, equal, decorrelated, duration, factor };

    static constexpr jitter none() noexcept { return jitter(kind::none); }
    // Uniform from zero to the delay.
    static constexpr jitter full() noexcept { return jitter(kind::full); }
    // Uniform from half the delay to the delay.
    static constexpr jitter equal() noexcept { return jitter(kind::equal); }
    // Uniform from the initial delay to three times the last one: it grows randomly, and the factor
    // is ignored. Only for exponential backoff.
    static constexpr jitter decorrelated() noexcept { return jitter(kind::decorrelated); }
    // The delay plus or minus an amount, or a share of the delay (0.25: a quarter).
    static constexpr jitter by(clock::duration amount) noexcept {
        return jitter(kind::duration, static_cast<double>(amount.count()));
    }
    static constexpr jitter by(double share) noexcept { return jitter(kind::factor, share); }

    constexpr kind which() const noexcept { return kind_; }
    constexpr double amount() const noexcept { return amount_; }  // nanoseconds, or the share

private:
    explicit constexpr jitter(kind which, double amount = 0) noexcept
        : amount_(amount), kind_(which) {}
    double amount_;
    kind kind_;
};

struct backoff_options {
    backoff_shape shape = backoff_shape::exponential;
    clock::duration initial = std::chrono::milliseconds(100);  // zero: no delay
    double factor = 2;                                         // exponential
    clock::duration step{};                                    // linear; zero: same as initial
    clock::duration maximum = std::chrono::seconds(30);
    weir::jitter jitter = weir::jitter::full();
};

constexpr backoff_options constant_backoff(clock::duration delay,
                                           jitter spread = jitter::none()) noexcept {
    return {.shape = backoff_shape::constant,
            .initial = delay,
            .maximum = clock::duration::max(),
            .jitter = spread};
}
constexpr backoff_options linear_backoff(clock::duration initial, clock::duration maximum,
                                         jitter spread = jitter::none()) noexcept {
    return {
        .shape = backoff_shape::linear, .initial = initial, .maximum = maximum, .jitter = spread};
}
constexpr backoff_options exponential_backoff(clock::duration initial, clock::duration maximum,
                                              jitter spread = jitter::none()) noexcept {
    return {.initial = initial, .maximum = maximum, .jitter = spread};
}

namespace decision {

// The random numbers of jitter.
using random_source = weir::detail::random_source;

// The delays of one call. The options must outlive it.
class backoff {
public:
    explicit backoff(const backoff_options& options) noexcept;

    // Throws invalid_argument with the owner and the option.
    static void check(const backoff_options& options, const char* owner);

    // The next delay, from zero to the maximum.
    clock::duration next(random_source& random) noexcept;
    void restart() noexcept;

private:
    double spread(double delay, random_source& random) const noexcept;
    void grow() noexcept;

    const backoff_options* options_;
    double maximum_;
    double delay_;  // before jitter; for decorrelated jitter, the last one
};

}  // namespace decision
}  // namespace weir
