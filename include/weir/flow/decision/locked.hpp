// SPDX-License-Identifier: MIT
// locked<Decision>: makes any decision thread-safe with a mutex. gcra does not need it.
#pragma once

#include <weir/flow/decision/limiter_decision.hpp>

#include <mutex>

namespace weir::decision {

template <limiter_decision Decision>
class locked {
public:
    using limits = typename Decision::limits;
    static constexpr bool is_shareable = true;
    static constexpr bool minds_completion = decision::minds_completion<Decision>;

    explicit locked(const limits& given) : inner_(given) {}

    verdict try_take(clock::time_point now, double weight = 1) noexcept {
        const std::scoped_lock lock(mutex_);
        return inner_.try_take(now, weight);
    }
    void give_back(clock::time_point now, double weight, clock::time_point taken) noexcept {
        const std::scoped_lock lock(mutex_);
        inner_.give_back(now, weight, taken);
    }
    void set_rate(clock::time_point now, const limits& given) {
        const std::scoped_lock lock(mutex_);
        inner_.set_rate(now, given);
    }
    void completed(clock::time_point now, double weight = 1) noexcept
        requires minds_completion
    {
        const std::scoped_lock lock(mutex_);
        inner_.completed(now, weight);
    }
    double capacity() const noexcept {
        const std::scoped_lock lock(mutex_);
        return inner_.capacity();
    }
    // Of a copy, since other threads use the decision meanwhile.
    trial_line<Decision> plan(clock::time_point now) const noexcept {
        const std::scoped_lock lock(mutex_);
        return {inner_, now};
    }

private:
    mutable std::mutex mutex_;
    Decision inner_;
};

}  // namespace weir::decision
