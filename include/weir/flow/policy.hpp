// SPDX-License-Identifier: MIT
// What a policy is: something to put around a call.
//
// Two shapes. A *gate* lets calls in or refuses them, and may want to know how they ended:
// limiters, breaker, bulkhead. A *wrapper* decides itself when and how often to call: retry, hedge,
// fallback, timeout. pipeline.hpp turns both into layers around the innermost call.
//
//   struct my_gate {
//       static constexpr policy_kind kind = policy_kind::bulkhead;
//       using pass = ...;                                  // move-only; destroyed without having been
//                                                          // told how the call ended: it was stopped
//       admission<pass> try_enter(call_context&) noexcept; // at once
//       task<admission<pass>> enter(call_context&);        // optional: waits; asked after a refusal
//   };
//   pass::finish(const outcome_view&, call_context&) noexcept   // optional: how the call ended
//
//   struct my_wrapper {
//       static constexpr policy_kind kind = policy_kind::retry;
//       template <class Next>
//       task<outcome<typename Next::value_type>> around(call_context&, Next& next);
//   };                                                     // co_await next(context): outcome<T>
//
// `next` can be copied. A wrapper whose calls may go on after it has answered (a hedge's losers)
// says `static constexpr bool outlives_call = true` and gives each call a copy of `next` and a
// context of its own: the copies then keep the user's callable alive.
//
// Errors travel as outcomes, so that no layer pays for an exception. The stop of the calling task
// passes through all layers by itself: destructors give back what was held, and nothing counts it.
#pragma once

#include <weir/flow/admission.hpp>
#include <weir/flow/outcome_view.hpp>
#include <weir/loop.hpp>
#include <weir/task.hpp>

#include <concepts>
#include <string_view>

namespace weir {

enum class policy_kind : unsigned char {
    fallback,
    total_timeout,
    retry,
    hedge,
    rate_limiter,
    circuit_breaker,
    bulkhead,
    adaptive_limit,
    attempt_timeout,
    custom,
};

class retry_budget;

// One call on its way through a pipeline.
class call_context {
public:
    explicit call_context(std::string_view name = {}, double weight = 1) noexcept
        : name_(name), weight_(weight) {}

    std::string_view name() const noexcept { return name_; }  // of the pipeline
    double weight() const noexcept { return weight_; }
    unsigned attempt() const noexcept { return attempt_; }  // from 1; retry counts it up
    void next_attempt() noexcept { ++attempt_; }
    // The budget that counts this call: the first policy that has it says so, and those further in
    // that share it do not count the call again.
    const retry_budget* counted_by() const noexcept { return counted_by_; }
    void count_by(const retry_budget* budget) noexcept { counted_by_ = budget; }

    // The time, read once for all policies; whoever has waited calls time_passed().
    clock::time_point now() {
        if (!is_known_) {
            now_ = weir::now();
            is_known_ = true;
        }
        return now_;
    }
    void time_passed() noexcept { is_known_ = false; }

private:
    std::string_view name_;
    double weight_;
    clock::time_point now_;
    const retry_budget* counted_by_ = nullptr;
    unsigned attempt_ = 1;
    bool is_known_ = false;
};

template <class Policy>
concept policy = requires {
    { Policy::kind } -> std::convertible_to<policy_kind>;
};

template <class Policy>
concept gate = policy<Policy> && requires(Policy& self, call_context& call) {
    typename Policy::pass;
    { self.try_enter(call) } -> std::same_as<admission<typename Policy::pass>>;
};
template <class Policy>
concept waiting_gate = gate<Policy> && requires(Policy& self, call_context& call) {
    { self.enter(call) } -> std::same_as<task<admission<typename Policy::pass>>>;
};
// A pass that wants to know how the call ended.
template <class Pass>
concept listening_pass = requires(Pass& pass, const outcome_view& ended, call_context& call) {
    pass.finish(ended, call);
};

}  // namespace weir
