// SPDX-License-Identifier: MIT
// The concept of a policy: a layer around a call. Users may write their own.
//
// There are two kinds. A *gate* admits or refuses calls and may observe their endings: limiters,
// breaker, bulkhead. A *wrapper* decides when and how often to call: retry, hedge, fallback,
// timeout. pipeline.hpp makes layers of both around the innermost call.
//
//   struct my_gate {
//       static constexpr policy_kind kind = policy_kind::bulkhead;
//       using pass = ...;  // move-only; destroyed without finish(): the call was stopped
//       admission<pass> try_enter(call_context&) noexcept;  // does not wait
//       task<admission<pass>> enter(call_context&);  // optional; waits, called after a refusal
//   };
//   pass::finish(const outcome_view&, call_context&) noexcept  // optional: the call has ended
//
//   struct my_wrapper {
//       static constexpr policy_kind kind = policy_kind::retry;
//       template <class Next>  // co_await next(context): outcome<T>
//       task<outcome<typename Next::value_type>> around(call_context&, Next& next);
//   };
//
// `next` can be copied. A wrapper whose calls may outlive its answer (the losers of a hedge) has
// `static constexpr bool outlives_call = true` and gives each call its own copy of `next` and its
// own context; the copies keep the user's callable alive.
//
// Errors are passed as outcomes, so that no layer pays for an exception. A stop of the calling task
// passes through all layers: destructors release what was held, and no layer counts it.
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

    std::string_view name() const noexcept { return name_; }  // of the pipeline or policy
    double weight() const noexcept { return weight_; }
    unsigned attempt() const noexcept { return attempt_; }  // from 1; incremented by retry
    void next_attempt() noexcept { ++attempt_; }
    // The budget that has counted this call: set by the outermost policy with that budget, so that
    // inner policies that share it do not count the call again.
    const retry_budget* counted_by() const noexcept { return counted_by_; }
    void count_by(const retry_budget* budget) noexcept { counted_by_ = budget; }

    // The time, read once for all policies. Call time_passed() after a wait.
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
// A pass that observes the ending of the call.
template <class Pass>
concept listening_pass = requires(Pass& pass, const outcome_view& ended, call_context& call) {
    pass.finish(ended, call);
};

}  // namespace weir
