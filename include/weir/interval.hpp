// SPDX-License-Identifier: MIT
// interval: a tick at regular times.
//
//     weir::interval ticks(100ms);
//     for (;;) {
//         co_await ticks.next();      // the first at once, then every 100 ms
//         co_await sample();
//     }
//
// Ticks are due at fixed times from the start, so the time that the work takes does not add up, as
// it would with sleep(). If the work takes longer than the period, ticks are missed; missed_ticks
// says what becomes of them. A stopped next() has taken no tick. For one fiber at a time.
#pragma once

#include <weir/clock.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <optional>

namespace weir {

enum class missed_ticks : unsigned char {
    burst,  // come at once, one after the other, until the interval has caught up
    delay,  // are dropped; the next tick comes a period after the late one
    skip,   // are dropped; the next tick comes at the next of the fixed times
};

struct interval_options {
    missed_ticks missed = missed_ticks::skip;
    bool first_at_once = true;  // false: the first tick comes after a period
};

class interval {
public:
    // Throws invalid_argument unless the period is positive.
    template <class Rep, class Period>
    explicit interval(std::chrono::duration<Rep, Period> period,
                      const interval_options& options = {})
        : period_(detail::to_nanoseconds(period)), options_(options) {
        check();
    }

    // co_await next(): waits for the next tick, and gives the time at which it was due.
    task<clock::time_point> next();

    // The next tick comes a period from now.
    void reset();
    clock::duration period() const noexcept { return period_; }
    // Ticks that were dropped.
    std::uint64_t missed() const noexcept { return missed_; }

private:
    void check() const;
    clock::time_point following(clock::time_point taken);

    clock::duration period_;
    interval_options options_;
    std::optional<clock::time_point> due_;  // known once a fiber asks for a tick
    std::uint64_t missed_ = 0;
};

}  // namespace weir
