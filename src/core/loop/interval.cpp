// SPDX-License-Identifier: MIT
// A tick is taken when the wait for it has ended, so that a stop takes none.

#include "base/option_checks.hpp"

#include <weir/interval.hpp>
#include <weir/time.hpp>

namespace weir {

void interval::check() const {
    if (period_ <= clock::duration::zero()) {
        detail::throw_bad_option("interval", "period", period_, "more than 0");
    }
}

task<clock::time_point> interval::next() {
    if (!due_) {
        due_ = options_.first_at_once ? now() : detail::after(now(), period_);
    }
    if (*due_ > now()) {
        co_await sleep_until(*due_);
    } else {
        co_await yield();  // ticks that burst let others run
    }
    const clock::time_point tick = *due_;
    due_ = following(now());
    co_return tick;
}

clock::time_point interval::following(clock::time_point taken) {
    const clock::time_point next = detail::after(*due_, period_);
    if (next > taken || options_.missed == missed_ticks::burst) {
        return next;
    }
    const auto dropped = static_cast<std::uint64_t>((taken - *due_) / period_);
    missed_ += dropped;
    if (options_.missed == missed_ticks::delay) {
        return detail::after(taken, period_);
    }
    return next + static_cast<std::int64_t>(dropped) * period_;
}

void interval::reset() {
    due_ = detail::after(now(), period_);
}

}  // namespace weir
