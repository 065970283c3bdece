// SPDX-License-Identifier: MIT
// A sliding window over two counters: constant memory, approximately strict.
//
// Time is divided into stretches of the window's length. The window that ends now covers the
// current stretch so far and the end of the previous one, whose count is weighted by the covered
// share, as if it were spread evenly. If it is not, a window may have more than the limit: up to
// twice as much, if all requests of a stretch come at its end. With strict = true the previous
// stretch counts in full: then no window exceeds the limit, and steady demand gets half of the
// limit. If both matter, use sliding_log.hpp. For one thread; locked.hpp makes it thread-safe.
#pragma once

#include <weir/flow/decision/limiter_decision.hpp>
#include <weir/flow/decision/window_weight.hpp>

#include <algorithm>

namespace weir::decision {

struct sliding_counter_limits {
    double limit = 0;
    clock::duration window = std::chrono::seconds(1);
    bool strict = false;
};

class sliding_counter {
public:
    using limits = sliding_counter_limits;
    using line = trial_line<sliding_counter>;

    // Throws invalid_argument.
    explicit sliding_counter(const limits& given)
        : limit_((check(given), in_millionths(given.limit))),
          window_(given.window.count()),
          strict_(given.strict) {}

    verdict try_take(clock::time_point now, double weight = 1) noexcept {
        const millionths cost = in_millionths(weight);
        advance(now);
        const std::int64_t into = std::max<std::int64_t>(0, (now - begin_).count());
        const millionths free = limit_ - cost - used_;
        if (free >= 0 && fits(before_, into, free)) [[likely]] {
            used_ += cost;
            return {true, {}};
        }
        if (cost > limit_) {
            return {false, refusal::never};
        }
        const std::int64_t until =
            free >= 0 ? moment(before_, free) : window_ + moment(used_, limit_ - cost);
        return {false, begin_ + clock::duration(until) - now};
    }
    void give_back(clock::time_point, double weight, clock::time_point taken) noexcept {
        const millionths back = in_millionths(weight);
        if (taken >= begin_) {
            used_ = std::max<millionths>(0, used_ - back);
        } else if (taken >= begin_ - clock::duration(window_)) {
            before_ = std::max<millionths>(0, before_ - back);
        }
    }
    // If the window changes, a stretch begins now, and the current count becomes that of the
    // previous stretch.
    void set_rate(clock::time_point now, const limits& given) {
        check(given);
        limit_ = in_millionths(given.limit);
        if (given.window.count() == window_ && given.strict == strict_) {
            return;
        }
        advance(now);
        const std::int64_t into = std::max<std::int64_t>(0, (now - begin_).count());
        before_ = used_ + (strict_ ? before_ : part(before_, window_ - into));
        used_ = 0;
        begin_ = std::max(begin_, now);
        window_ = given.window.count();
        strict_ = given.strict;
    }

    double capacity() const noexcept { return static_cast<double>(limit_) / 1e6; }
    line plan(clock::time_point now) const noexcept { return {*this, now}; }

private:
    __extension__ using wide = __int128;
    static void check(const limits& given) {
        check_window("sliding_window_counter", {given.limit, given.window});
    }
    // The share of a count that is in the window, rounded up.
    millionths part(millionths count, std::int64_t left) const noexcept {
        return static_cast<millionths>((static_cast<wide>(count) * left + window_ - 1) / window_);
    }
    bool fits(millionths count, std::int64_t into, millionths free) const noexcept {
        if (strict_) {
            return count <= free;
        }
        return static_cast<wide>(count) * (window_ - into) <= static_cast<wide>(free) * window_;
    }
    // The first nanosecond of a stretch at which at most this much of the previous count is left.
    std::int64_t moment(millionths count, millionths free) const noexcept {
        if (count <= free) {
            return 0;
        }
        if (strict_) {
            return window_;
        }
        return window_ - static_cast<std::int64_t>(static_cast<wide>(free) * window_ / count);
    }
    void advance(clock::time_point now) noexcept {
        if (begin_ == clock::time_point::min()) {
            begin_ = now;
            return;
        }
        const std::int64_t stretches = (now - begin_).count() / window_;
        if (stretches > 0) [[unlikely]] {
            begin_ += clock::duration(stretches * window_);
            before_ = stretches == 1 ? used_ : 0;
            used_ = 0;
        }
    }

    clock::time_point begin_ = clock::time_point::min();  // of the current stretch; min(): none yet
    millionths used_ = 0;                                 // in the current stretch
    millionths before_ = 0;                               // in the previous stretch
    millionths limit_;
    std::int64_t window_;
    bool strict_;
};

static_assert(limiter_decision<sliding_counter>);

}  // namespace weir::decision
