// SPDX-License-Identifier: MIT
// What a rate limiter decides, apart from any waiting: may this pass now, and if not, when?
//
// A decision is a small value that is told the time. limiter.hpp puts a line of waiters in front of
// one; a program that has its own way of waiting, or none, uses the decision alone.
//
//     weir::decision::gcra bucket({.rate = 100, .burst = 10});
//     if (const auto said = bucket.try_take(now); !said.granted) { tell(said.wait); }
#pragma once

#include <weir/clock.hpp>
#include <weir/refusal.hpp>

#include <concepts>
#include <utility>

namespace weir::decision {

struct verdict {
    // A wait that nobody can foresee: until something that runs has ended.
    static constexpr clock::duration unforeseen = clock::duration::max() - clock::duration(1);

    bool granted = false;
    // If it was not: how long until it would be, if nobody else came. refusal::never if it never
    // will.
    clock::duration wait{};
};

// try_take      takes the weight if it may pass now; takes nothing otherwise. A time older than one
// that
//               was seen never lets more pass
// plan          what would happen to a line of waiters: grant(weight) says when each next one
// passes,
//               the end of time if that cannot be foreseen. Valid until the decision is used again
// give_back     undoes a take that was not used after all. Never brings back more than the take
// still
//               costs: what has been refilled since is not refilled again
// set_rate      from now on; what has been taken stays taken, so that no burst comes of it
// capacity      a weight above it never passes
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

// May several threads use one?
template <class Decision>
inline constexpr bool is_shareable = requires { requires Decision::is_shareable; };
// Does a plan need only the sum of what is ahead? Then it has skip(weight), too.
template <class Decision>
inline constexpr bool is_additive = requires { requires Decision::is_additive; };
// Does it want to be told when what it let through has ended? Then it has completed(now, weight).
template <class Decision>
inline constexpr bool minds_completion = requires { requires Decision::minds_completion; };

// A plan for any decision that is cheap to copy: the copy is asked at the times it names itself.
template <class Decision>
class trial_line {
public:
    trial_line(const Decision& at, clock::time_point now) : copy_(at), time_(now) {}
    clock::time_point grant(double weight) noexcept {
        while (time_ != clock::time_point::max()) {
            const verdict said = copy_.try_take(time_, weight);
            if (said.granted) {
                return time_;
            }
            if (said.wait >= verdict::unforeseen) {
                return clock::time_point::max();
            }
            time_ = weir::detail::after(time_, said.wait);
        }
        return time_;
    }

private:
    Decision copy_;
    clock::time_point time_;
};

}  // namespace weir::decision
