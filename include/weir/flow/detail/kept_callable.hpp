// SPDX-License-Identifier: MIT
// Callables that policies are given, kept as long as they are needed.
#pragma once

#include <weir/flow/call.hpp>

#include <memory>
#include <type_traits>

namespace weir::detail {

// Temporaries are kept, what has a name is referred to.
template <class Fn>
using kept_callable =
    std::conditional_t<std::is_lvalue_reference_v<Fn>, Fn, std::remove_cvref_t<Fn>>;

// As the `next` of a policy whose calls may go on after it has answered: each of them keeps the callable.
template <class Fn>
class owned_innermost {
public:
    using value_type = call_value_t<Fn>;

    explicit owned_innermost(Fn fn) : fn_(std::make_shared<Fn>(std::move(fn))) {}
    task<outcome<value_type>> operator()(call_context& call) const { return keep(fn_, call); }

private:
    static task<outcome<value_type>> keep(std::shared_ptr<Fn> fn, call_context& call) {
        co_return co_await settle_call(*fn, call);
    }
    std::shared_ptr<Fn> fn_;
};

}  // namespace weir::detail
