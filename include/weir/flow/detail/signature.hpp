// SPDX-License-Identifier: MIT
// signature: the parameters and the result of a function or a lambda that is not generic.
#pragma once

#include <weir/base/to_task.hpp>

#include <functional>
#include <type_traits>
#include <utility>

namespace weir::detail {

template <class Callable>
struct signature : signature<decltype(&Callable::operator())> {};
template <class Returned, class... Params>
struct signature<Returned (*)(Params...)> {
    using type = typename call_value<Returned>::type(std::decay_t<Params>...);
};
template <class Returned, class... Params>
struct signature<Returned (*)(Params...) noexcept> : signature<Returned (*)(Params...)> {};
template <class Returned, class Class, class... Params>
struct signature<Returned (Class::*)(Params...)> : signature<Returned (*)(Params...)> {};
template <class Returned, class Class, class... Params>
struct signature<Returned (Class::*)(Params...) const> : signature<Returned (*)(Params...)> {};
template <class Returned, class Class, class... Params>
struct signature<Returned (Class::*)(Params...) noexcept> : signature<Returned (*)(Params...)> {};
template <class Returned, class Class, class... Params>
struct signature<Returned (Class::*)(Params...) const noexcept>
    : signature<Returned (*)(Params...)> {};

// The parameter and the result of a handler with one argument.
template <class Signature>
struct handler_parts;
template <class Result, class Param>
struct handler_parts<Result(Param)> {
    using param = Param;
    using result = Result;
};

template <class Returned, class Callable, class... Args>
task<Returned> await_call(Callable callable, Args... args) {
    if constexpr (awaitable<std::invoke_result_t<Callable&, Args...>>) {
        co_return co_await std::invoke(callable, std::move(args)...);
    } else {
        co_return std::invoke(callable, std::move(args)...);
    }
}

// A task that owns the callable and its arguments, and calls it when the task runs. The callable
// returns a task, another awaitable, or a plain value.
template <class Callable, class... Args>
auto task_of_call(Callable&& callable, Args&&... args) {
    using plain = std::decay_t<Callable>;
    using value = typename call_value<std::invoke_result_t<plain&, std::decay_t<Args>...>>::type;
    if constexpr (starts_task<plain&, std::decay_t<Args>...>) {
        return make_task(std::forward<Callable>(callable), std::forward<Args>(args)...);
    } else {
        return await_call<value, plain, std::decay_t<Args>...>(std::forward<Callable>(callable),
                                                               std::forward<Args>(args)...);
    }
}

}  // namespace weir::detail
