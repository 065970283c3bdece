// SPDX-License-Identifier: MIT
// Policies around what is further in. Each layer is a `next`: called with the context, it gives something
// to await that ends as an outcome. Gates that stand side by side share one layer.
#pragma once

#include <weir/flow/detail/gate_row.hpp>

#include <tuple>
#include <utility>

namespace weir::detail {

template <class Next, class... Gates>
class gates_layer {
public:
    using value_type = typename Next::value_type;
    gates_layer(std::tuple<Gates&...> gates, Next next) noexcept
        : gates_(gates), next_(std::move(next)) {}
    auto operator()(call_context& call) { return gates_call<Next, Gates...>(gates_, call, next_); }

    // One more gate, further out.
    template <class Gate>
    auto behind(Gate& outer) && {
        return gates_layer<Next, Gate, Gates...>(std::tuple_cat(std::tuple<Gate&>(outer), gates_),
                                                 std::move(next_));
    }

private:
    std::tuple<Gates&...> gates_;
    Next next_;
};

template <class Policy, class Next>
class wrapper_layer {
public:
    using value_type = typename Next::value_type;
    wrapper_layer(Policy& policy, Next next) noexcept : policy_(&policy), next_(std::move(next)) {}
    auto operator()(call_context& call) { return policy_->around(call, next_); }

private:
    Policy* policy_;
    Next next_;
};

template <class Next>
struct is_gates_layer : std::false_type {};
template <class Next, class... Gates>
struct is_gates_layer<gates_layer<Next, Gates...>> : std::true_type {};

// Puts a policy around what is further in.
template <class Policy, class Next>
auto put_around(Policy& policy, Next next) {
    if constexpr (!gate<Policy>) {
        return wrapper_layer<Policy, Next>(policy, std::move(next));
    } else if constexpr (is_gates_layer<Next>::value) {
        return std::move(next).behind(policy);
    } else {
        return gates_layer<Next, Policy>(std::tuple<Policy&>(policy), std::move(next));
    }
}

}  // namespace weir::detail
