// SPDX-License-Identifier: MIT
// What a callable takes and gives, where it has one answer: functions and lambdas that are not
// generic.
#pragma once

#include <weir/base/to_task.hpp>

#include <functional>
#include <type_traits>
#include <utility>

namespace weir::detail {

// What awaiting the result of a call gives: task<T> and other awaitables give T, plain values
// themselves.
template <class Returned>
struct invoked_value {
    using type = Returned;
};
template <awaitable Returned>
struct invoked_value<Returned> {
    using type = kept_t<awaited_t<std::remove_cvref_t<Returned>>>;
};
template <class Callable, class... Args>
using invoked_value_t = typename invoked_value<std::invoke_result_t<Callable, Args...>>::type;

template <class Callable>
struct signature : signature<decltype(&Callable::operator())> {};
template <class Returned, class... Params>
struct signature<Returned (*)(Params...)> {
    using type = typename invoked_value<Returned>::type(std::decay_t<Params>...);
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

// The signature of a handler of one argument, taken apart.
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

// A task that calls fn(args...), which it owns. fn gives a task, another awaitable, or a plain
// value. Nothing is called before the task runs.
template <class Callable, class... Args>
auto task_of_call(Callable&& callable, Args&&... args) {
    using plain = std::decay_t<Callable>;
    using value = invoked_value_t<plain&, std::decay_t<Args>...>;
    if constexpr (starts_task<plain&, std::decay_t<Args>...>) {
        return make_task(std::forward<Callable>(callable), std::forward<Args>(args)...);
    } else {
        return await_call<value, plain, std::decay_t<Args>...>(std::forward<Callable>(callable),
                                                               std::forward<Args>(args)...);
    }
}

}  // namespace weir::detail
