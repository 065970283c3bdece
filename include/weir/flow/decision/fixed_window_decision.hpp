// SPDX-License-Identifier: MIT
// Consecutive windows, each with its limit: the simplest decision, and the loosest. Around the
// border of two windows up to twice the limit is granted within the time of one window.
//
// The first window begins with the first request. For one thread; locked.hpp makes it thread-safe.
#pragma once

#include <weir/flow/decision/limiter_decision.hpp>
#include <weir/flow/decision/window_weight.hpp>

#include <algorithm>

namespace weir::decision {

class fixed_window {
public:
    using limits = window_limits;
    using line = trial_line<fixed_window>;

    // Throws invalid_argument.
    explicit fixed_window(const limits& given)
        : limit_((check_window("fixed_window", given), in_millionths(given.limit))),
          window_(given.window) {}

    verdict try_take(clock::time_point now, double weight = 1) noexcept {
        const millionths cost = in_millionths(weight);
        advance(now);
        if (cost <= limit_ - used_) [[likely]] {
            used_ += cost;
            return {true, {}};
        }
        if (cost > limit_) {
            return {false, refusal::never};
        }
        return {false, begin_ + window_ - now};
    }
    void give_back(clock::time_point, double weight, clock::time_point taken) noexcept {
        if (taken >= begin_) {
            used_ = std::max<millionths>(0, used_ - in_millionths(weight));
        }
    }
    // The window continues; if its length changes, a new one begins now, with the used weight.
    void set_rate(clock::time_point now, const limits& given) {
        check_window("fixed_window", given);
        advance(now);
        if (given.window != window_) {
            begin_ = std::max(begin_, now);
        }
        limit_ = in_millionths(given.limit);
        window_ = given.window;
    }

    double capacity() const noexcept { return static_cast<double>(limit_) / 1e6; }
    double available(clock::time_point now) const noexcept {
        fixed_window then = *this;
        then.advance(now);
        return static_cast<double>(std::max<millionths>(0, then.limit_ - then.used_)) / 1e6;
    }
    line plan(clock::time_point now) const noexcept { return {*this, now}; }

private:
    void advance(clock::time_point now) noexcept {
        if (begin_ == clock::time_point::min()) {
            begin_ = now;
        } else if (now - begin_ >= window_) {
            begin_ += (now - begin_) / window_ * window_;
            used_ = 0;
        }
    }

    clock::time_point begin_ = clock::time_point::min();  // of the window: none yet
    millionths used_ = 0;
    millionths limit_;
    clock::duration window_;
};

static_assert(limiter_decision<fixed_window>);

}  // namespace weir::decision
