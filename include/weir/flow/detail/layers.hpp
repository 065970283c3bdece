// SPDX-License-Identifier: MIT
// One policy around what is further in: gates become coroutines here, wrappers bring their own.
#pragma once

#include <weir/flow/call.hpp>
#include <weir/flow/policy.hpp>

#include <utility>

namespace weir::detail {

template <gate Gate, class Next>
task<outcome<typename Next::value_type>> through_gate(Gate& gate, call_context& call, Next& next) {
    using result = outcome<typename Next::value_type>;
    admission<typename Gate::pass> entered = gate.try_enter(call);
    if constexpr (waiting_gate<Gate>) {
        if (!entered) [[unlikely]] {
            entered = co_await gate.enter(call);
            call.time_passed();
        }
    }
    if (!entered) [[unlikely]] {
        co_return result::from_refusal(entered.refusal());
    }
    result ended = co_await next(call);
    if constexpr (listening_pass<typename Gate::pass>) {
        entered.pass().finish(ended, call);
    }
    co_return ended;
}

template <class Policy, class Next>
class layer {
public:
    using value_type = typename Next::value_type;
    layer(Policy& policy, Next next) noexcept : policy_(&policy), next_(std::move(next)) {}
    task<outcome<value_type>> operator()(call_context& call) {
        if constexpr (gate<Policy>) {
            return through_gate(*policy_, call, next_);
        } else {
            return policy_->around(call, next_);
        }
    }

private:
    Policy* policy_;
    Next next_;
};

}  // namespace weir::detail
