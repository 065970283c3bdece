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

namespace weir::decision {

struct verdict {
    bool granted = false;
    // If it was not: how long until it would be, if nobody else came. refusal::never if it never will.
    clock::duration wait{};
};

// try_take      takes the weight if it may pass now; takes nothing otherwise
// plan          what would happen to a line of waiters: grant(weight) says when each next one passes
// give_back     undoes a take that was not used after all. Never brings back more than the take still
//               costs: what has been refilled since is not refilled again
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

}  // namespace weir::decision
