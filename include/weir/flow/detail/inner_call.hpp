// SPDX-License-Identifier: MIT
// What is further in, as the child of a boundary.
//
// Layers of policies are boundaries that hold one another: a call that passes through five of them
// is one object in the frame of whoever awaits it, and the only frame made on the way is that of
// the user's own task. A layer that has to wait starts a coroutine for that.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/flow/call.hpp>

#include <type_traits>
#include <utility>

namespace weir::detail {

// Awaitable: what a `next` gives. A boundary, in general.
template <class Awaitable>
class inner_call {
public:
    // Made in place, or moved in before it has begun.
    template <class Next>
    inner_call(Next& next, call_context& call) : inner_(next(call)) {}
    explicit inner_call(Awaitable&& inner) : inner_(std::move(inner)) {}

    void enter(boundary& parent, fiber& on) noexcept {
        inner_.parent = &parent;
        inner_.enter(on);
    }
    void child_suspended() noexcept {
        if constexpr (requires { inner_.child_suspended(); }) {
            inner_.child_suspended();
        }
    }
    void lost() noexcept {}  // a walk has passed it
    auto take() { return inner_.await_resume(); }

private:
    Awaitable inner_;
};

// A policy that throws instead of giving an outcome has failed with that.
template <class T>
class inner_call<task<outcome<T>>> : public child_call<outcome<T>> {
    using base = child_call<outcome<T>>;

public:
    inner_call() noexcept = default;
    template <class Next>
    inner_call(Next& next, call_context& call) : base(next(call)) {}
    explicit inner_call(task<outcome<T>>&& inner) : base(std::move(inner)) {}
    void child_suspended() noexcept {}
    outcome<T> take() {
        return this->has_value() ? base::take() : outcome_of_error<T>(this->error());
    }
};

// The same, to be awaited by a coroutine.
template <class T>
class settled_policy_call final
    : public around_task<settled_policy_call<T>, inner_call<task<outcome<T>>>> {
public:
    static constexpr const char* boundary_name = "policy";
    explicit settled_policy_call(task<outcome<T>>&& work)
        : around_task<settled_policy_call, inner_call<task<outcome<T>>>>(std::move(work)) {}
    outcome<T> await_resume() { return this->work_.take(); }
};

// co_await settle_next(next, call): always an outcome, also where the next policy is a coroutine
// and throws.
template <class Next>
auto settle_next(Next& next, call_context& call) {
    using value = typename Next::value_type;
    if constexpr (std::is_same_v<decltype(next(call)), task<outcome<value>>>) {
        return settled_policy_call<value>(next(call));
    } else {
        return next(call);
    }
}

// Nothing to wait for: the parent's turn comes at once.
template <class T, class Callable>
class inner_call<settled_plain_call<T, Callable>> {
public:
    template <class Next>
    inner_call(Next& next, call_context& call) : inner_(next(call)) {}
    explicit inner_call(settled_plain_call<T, Callable>&& inner) : inner_(inner) {}

    void enter(boundary& parent, fiber& on) noexcept { skip_child(parent, on); }
    void child_suspended() noexcept {}
    void lost() noexcept {}
    auto take() { return inner_.await_resume(); }

private:
    settled_plain_call<T, Callable> inner_;
};

// What a layer with this `next` awaits.
template <class Next>
using inner_call_of = inner_call<decltype(std::declval<Next&>()(std::declval<call_context&>()))>;

}  // namespace weir::detail
