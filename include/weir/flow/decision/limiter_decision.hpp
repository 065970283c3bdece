// SPDX-License-Identifier: MIT
// The concept of a rate limiter's decision, without waiting: whether a request is granted now, and
// if not, when.
//
// A decision is a small value; the caller passes the time. limiter.hpp adds a line of waiters; a
// program that waits in another way, or not at all, uses the decision alone.
//
//     weir::decision::gcra bucket({.rate = 100, .burst = 10});
//     if (const auto answer = bucket.try_take(now); !answer.granted) { use(answer.wait); }
#pragma once

#include <weir/clock.hpp>
#include <weir/refusal.hpp>

#include <concepts>
#include <utility>

namespace weir::decision {

struct verdict {
    // The wait is not predictable: it depends on the end of a call in flight.
    static constexpr clock::duration unforeseen = clock::duration::max() - clock::duration(1);

    bool granted = false;
    // If not granted: the time until it would be, without other requests. refusal::never if it
    // never will be.
    clock::duration wait{};
};

// try_take      takes the weight if it is granted now, otherwise nothing. A time older than an
// earlier
//               one never grants more
// plan          predicts a line of waiters: grant(weight) returns when the next waiter is granted,
//               time_point::max() if that is not predictable. Valid until the decision changes
// give_back     undoes an unused take. Tokens that have been refilled since are not given back
// again set_rate      changes the rate from now on; taken tokens stay taken, so there is no burst
// capacity      a larger weight is never granted
template <class Decision>
concept limiter_decision =
    requires(Decision& own, const Decision& seen, clock::time_point now, double weight) {
        typename Decision::limits;
        { own.try_take(now, weight) } noexcept -> std::same_as<verdict>;
        { own.give_back(now, weight, now) } noexcept;
        { own.set_rate(now, std::declval<const typename Decision::limits&>()) };
        { seen.plan(now).grant(weight) } noexcept -> std::same_as<clock::time_point>;
        { seen.capacity() } noexcept -> std::same_as<double>;
    };

// Whether threads may share one.
template <class Decision>
inline constexpr bool is_shareable = requires { requires Decision::is_shareable; };
// Whether a plan needs only the sum of the weights ahead. Then it has skip(weight).
template <class Decision>
inline constexpr bool is_additive = requires { requires Decision::is_additive; };
// Whether it needs to know when a granted call has ended. Then it has completed(now, weight).
template <class Decision>
inline constexpr bool minds_completion = requires { requires Decision::minds_completion; };

// A plan for any decision that is cheap to copy: asks the copy at the times that it predicts.
template <class Decision>
class trial_line {
public:
    trial_line(const Decision& at, clock::time_point now) : copy_(at), time_(now) {}
    clock::time_point grant(double weight) noexcept {
        while (time_ != clock::time_point::max()) {
            const verdict answer = copy_.try_take(time_, weight);
            if (answer.granted) {
                return time_;
            }
            if (answer.wait >= verdict::unforeseen) {
                return clock::time_point::max();
            }
            time_ = weir::detail::after(time_, answer.wait);
        }
        return time_;
    }

private:
    Decision copy_;
    clock::time_point time_;
};

}  // namespace weir::decision
