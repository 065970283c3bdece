// SPDX-License-Identifier: MIT
// run(fn) and settle(fn) of a policy, without a pipeline: one frame for the call and its layer.
#pragma once

#include <weir/flow/detail/gate_row.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace weir::detail {

// As the `next` of a policy whose calls may go on after it has answered: each of them keeps the
// callable.
template <class Fn>
class owned_innermost {
public:
    using value_type = call_value_t<Fn>;

    template <class Given>
    explicit owned_innermost(Given&& fn) : fn_(std::make_shared<Fn>(std::forward<Given>(fn))) {}
    task<outcome<value_type>> operator()(call_context& call) const { return keep(fn_, call); }

private:
    static task<outcome<value_type>> keep(std::shared_ptr<Fn> fn, call_context& call) {
        co_return co_await settle_call(*fn, call);
    }
    std::shared_ptr<Fn> fn_;
};

// Policies whose calls may go on after they have answered (a hedge's losers) need the callable to
// live as long as the last of them.
template <class Policy>
concept outlives_call = requires { requires Policy::outlives_call; };

// What is innermost around a callable that is held as Held: owned, if need be; copied then, if it
// has a name.
template <bool IsOwned, class Held>
auto innermost_of(std::remove_reference_t<Held>& fn) {
    if constexpr (IsOwned) {
        return owned_innermost<std::remove_cvref_t<Held>>(static_cast<Held&&>(fn));
    } else {
        return innermost<std::remove_reference_t<Held>>(fn);
    }
}

template <call_view View, class Held, class Policy,
          class T = call_value_t<std::remove_reference_t<Held>>>
task<viewed_t<View, T>> call_under(Policy* policy, Held fn, double weight = 1) {
    call_context call(policy->name(), weight);
    auto next = innermost_of<outlives_call<Policy>, Held>(fn);
    if constexpr (gate<Policy>) {
        outcome<T> ended = co_await through_gate(*policy, call, next);
        co_return view_of<View>(std::move(ended), policy->name());
    } else {
        outcome<T> ended = co_await policy->around(call, next);
        co_return view_of<View>(std::move(ended), policy->name());
    }
}

}  // namespace weir::detail
