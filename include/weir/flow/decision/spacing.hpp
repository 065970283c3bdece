// SPDX-License-Identifier: MIT
// One grant at a time with a pause in between: a leaky bucket. The pause is measured from the
// previous grant, or from the end of its call; then the next request waits for that end.
//
// A weight multiplies the pause after it. For one thread; locked.hpp makes it thread-safe.
#pragma once

#include <weir/flow/decision/limiter_decision.hpp>

#include <algorithm>
#include <cmath>

namespace weir::decision {

enum class measured_from : unsigned char { start, completion };

struct spacing_limits {
    clock::duration interval{};
    measured_from from = measured_from::start;
};

class spacing {
public:
    using limits = spacing_limits;
    using line = trial_line<spacing>;
    static constexpr bool minds_completion = true;

    // Throws invalid_argument.
    explicit spacing(const limits& given) : limits_(checked(given)) {}

    verdict try_take(clock::time_point now, double weight = 1) noexcept {
        if (!(weight > 0 && weight <= capacity())) {
            return {false, refusal::never};
        }
        if (is_running_) {
            return {false, verdict::unforeseen};
        }
        if (now < next_) {
            return {false, next_ - now};
        }
        is_running_ = limits_.from == measured_from::completion;
        taken_ = now;
        next_ = now + pause(weight);
        return {true, {}};
    }
    // The granted call has ended. Does nothing if the pause is measured from the start.
    void completed(clock::time_point now, double weight = 1) noexcept {
        if (is_running_) {
            is_running_ = false;
            next_ = std::max(next_, now + pause(weight));
        }
    }
    void give_back(clock::time_point, double, clock::time_point taken) noexcept {
        if (taken == taken_) {  // no grant since
            is_running_ = false;
            next_ = taken;
        }
    }
    // The current pause keeps its length.
    void set_rate(clock::time_point, const limits& given) {
        limits_ = checked(given);
        is_running_ = is_running_ && given.from == measured_from::completion;
    }
    double capacity() const noexcept { return 1e6; }
    line plan(clock::time_point now) const noexcept { return {*this, now}; }

private:
    static const limits& checked(const limits& given);
    clock::duration pause(double weight) const noexcept {
        if (weight == 1) [[likely]] {
            return limits_.interval;
        }
        constexpr double most = 9e18;
        const double exact = static_cast<double>(limits_.interval.count()) * weight;
        return clock::duration(static_cast<std::int64_t>(std::ceil(std::min(exact, most / 2))));
    }

    limits limits_;
    clock::time_point taken_ = clock::time_point::min();  // time of the last grant
    clock::time_point next_ = clock::time_point::min();   // earliest time of the next grant
    bool is_running_ = false;  // a call is in flight; none is granted until it ends
};

static_assert(limiter_decision<spacing>);

}  // namespace weir::decision
