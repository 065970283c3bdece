// SPDX-License-Identifier: MIT
// Policies around what is further in: gates that stand side by side become one coroutine, wrappers bring
// their own. Each layer is a `next`: called with the context, it gives something to await that ends as
// an outcome.
#pragma once

#include <weir/flow/call.hpp>
#include <weir/flow/policy.hpp>

#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

namespace weir::detail {

// The passes of one call through several gates. They are taken from the outside in and given back from
// the inside out.
template <class... Gates>
class gate_row {
    static constexpr std::size_t count = sizeof...(Gates);

public:
    gate_row(const std::tuple<Gates&...>& gates, call_context& call) noexcept
        : gates_(gates), call_(call) {}
    gate_row(const gate_row&) = delete;
    gate_row& operator=(const gate_row&) = delete;
    ~gate_row() { give_back<count>(); }

    // Goes through as many as let it in; true if these are all. Otherwise refusal() is of the one that
    // did not.
    bool enter() noexcept { return enter_from<0>(); }
    const weir::refusal& refusal() const noexcept { return refusal_; }
    // Waits at the gate that refused, where it has a queue; true if that let it in after all.
    task<bool> wait() { return wait_at<0>(); }

    void finish(const outcome_view& ended) noexcept { finish_from<count>(ended); }

private:
    template <std::size_t Index>
    bool enter_from() noexcept {
        if constexpr (Index == count) {
            return true;
        } else {
            if (entered_ <= Index) {
                auto admitted = std::get<Index>(gates_).try_enter(call_);
                if (!admitted) [[unlikely]] {
                    refusal_ = admitted.refusal();
                    return false;
                }
                std::get<Index>(passes_).emplace(std::move(admitted).pass());
                entered_ = Index + 1;
            }
            return enter_from<Index + 1>();
        }
    }
    template <std::size_t Index>
    task<bool> wait_at() {
        if constexpr (Index + 1 < count) {
            if (entered_ != Index) {
                return wait_at<Index + 1>();
            }
        }
        return wait_here<Index>();
    }
    template <std::size_t Index>
    task<bool> wait_here() {
        if constexpr (waiting_gate<std::tuple_element_t<Index, std::tuple<Gates...>>>) {
            auto admitted = co_await std::get<Index>(gates_).enter(call_);
            call_.time_passed();
            if (admitted) {
                std::get<Index>(passes_).emplace(std::move(admitted).pass());
                entered_ = Index + 1;
                co_return true;
            }
            refusal_ = admitted.refusal();
        }
        co_return false;
    }
    template <std::size_t End>
    void finish_from(const outcome_view& ended) noexcept {
        if constexpr (End > 0) {
            auto& pass = *std::get<End - 1>(passes_);
            if constexpr (listening_pass<std::remove_reference_t<decltype(pass)>>) {
                pass.finish(ended, call_);
            }
            finish_from<End - 1>(ended);
        }
    }
    template <std::size_t End>
    void give_back() noexcept {
        if constexpr (End > 0) {
            std::get<End - 1>(passes_).reset();
            give_back<End - 1>();
        }
    }

    std::tuple<Gates&...> gates_;
    std::tuple<std::optional<typename Gates::pass>...> passes_;
    call_context& call_;
    std::size_t entered_ = 0;
    weir::refusal refusal_;
};

template <class Next, class... Gates>
task<outcome<typename Next::value_type>> through_gates(std::tuple<Gates&...> gates,
                                                       call_context& call, Next& next) {
    using result = outcome<typename Next::value_type>;
    gate_row<Gates...> row(gates, call);
    while (!row.enter()) {
        const bool let_in = co_await row.wait();
        if (!let_in) {
            co_return result::from_refusal(row.refusal());
        }
    }
    result ended = co_await next(call);
    row.finish(ended);
    co_return ended;
}

template <gate Gate, class Next>
auto through_gate(Gate& gate, call_context& call, Next& next) {
    return through_gates(std::tuple<Gate&>(gate), call, next);
}

template <class Next, class... Gates>
class gates_layer {
public:
    using value_type = typename Next::value_type;
    gates_layer(std::tuple<Gates&...> gates, Next next) noexcept
        : gates_(gates), next_(std::move(next)) {}
    task<outcome<value_type>> operator()(call_context& call) {
        return through_gates(gates_, call, next_);
    }

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
