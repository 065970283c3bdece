// SPDX-License-Identifier: MIT
// Any awaitable as a task, which combinators accept.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/spawn.hpp>

#include <concepts>
#include <type_traits>
#include <vector>

namespace weir::detail {

template <class T>
struct awaited;  // the type of co_await on a T
template <class T>
struct awaited<task<T>> {
    using type = T;
};
template <leaf_operation T>
struct awaited<T> {
    using type = decltype(std::declval<T&>().resume());
};
template <bounded_awaitable T>
struct awaited<T> {
    using type = decltype(std::declval<T&>().await_resume());
};
template <makes_operation T>
    requires(!leaf_operation<T> && !bounded_awaitable<T>)
struct awaited<T> {
    using type =
        decltype(std::declval<
                     typename decltype(std::declval<T>().make_operation())::operation_type&>()
                     .resume());
};
template <class T>
using awaited_t = typename awaited<T>::type;

template <class T>
concept awaitable = requires { typename awaited<std::remove_cvref_t<T>>::type; };

// The result as it can be kept.
template <class T>
using kept_t = std::conditional_t<std::is_void_v<T>, void, std::remove_cvref_t<T>>;

// The final result of a call: the awaited result, or the result itself.
template <class Result>
struct call_value {
    using type = kept_t<Result>;
};
template <awaitable Result>
struct call_value<Result> {
    using type = kept_t<awaited_t<std::remove_cvref_t<Result>>>;
};

// How an argument is held: temporaries by value, lvalues by reference.
template <class Given>
using held_t =
    std::conditional_t<std::is_lvalue_reference_v<Given>, Given, std::remove_cvref_t<Given>>;

template <class Source>
task<kept_t<awaited_t<Source>>> await_moved(Source source) {
    if constexpr (makes_operation<Source>) {
        co_return co_await std::move(source);
    } else {
        co_return co_await source;
    }
}

// A handle that the caller keeps: its value is copied, where it can be, and stays with the handle.
template <class Source>
concept shareable = requires(const Source& source) {
    source.make_operation();
    requires std::is_void_v<kept_t<awaited_t<Source>>> ||
                 std::copy_constructible<kept_t<awaited_t<Source>>>;
};
template <shareable Source>
task<kept_t<awaited_t<Source>>> await_shared(Source source) {
    co_return co_await std::as_const(source);
}

template <class T>
task<T> to_task(task<T>&& given) noexcept {
    return std::move(given);
}
template <awaitable Source>
    requires(!is_task<std::remove_cvref_t<Source>>::value)
auto to_task(Source&& source) {
    using plain = std::remove_cvref_t<Source>;
    if constexpr (std::is_lvalue_reference_v<Source> && shareable<plain>) {
        return await_shared<plain>(source);
    } else {
        return await_moved<plain>(std::forward<Source>(source));
    }
}
template <class Callable>
    requires(!awaitable<Callable> && starts_task<std::decay_t<Callable>&>)
auto to_task(Callable&& callable) {
    return make_task(std::forward<Callable>(callable));
}

// Calls a body inside a task, so that even a body that throws before it makes a task of its own
// throws into the boundary around it.
template <class Body, class Argument>
auto call_with(Body body, Argument argument) -> std::invoke_result_t<Body&, Argument> {
    co_return co_await std::invoke(body, argument);
}

template <class Source>
concept task_like = requires(Source&& source) { to_task(std::forward<Source>(source)); };
template <class Source>
using task_value_t = typename decltype(to_task(std::declval<Source>()))::value_type;

// Says what to write in place of an argument that is no task_like. The conditions are template
// parameters because compilers then have nothing to add to the text.
template <class Work, bool IsMoved = !is_task<std::remove_cvref_t<Work>>::value,
          bool ReturnsTask = !IsMoved || !std::is_invocable_v<std::decay_t<Work>&>,
          bool IsWork = !IsMoved || !ReturnsTask>
constexpr void explain_work() {
    static_assert(IsMoved, "a task is consumed by the call it is given to: write std::move(task)");
    static_assert(ReturnsTask,
                  "the function does not return a task: write '-> weir::task<>' (or "
                  "task<T>) and use co_await or co_return in it");
    static_assert(IsWork,
                  "this takes a task, an operation, a handle, or a function without "
                  "parameters that returns a task: write work(argument), or "
                  "[&] { return work(argument); }");
}

// The first that is none.
template <class First, class... Rest>
struct first_refused : first_refused<Rest...> {};
template <class First, class... Rest>
    requires(!task_like<First>)
struct first_refused<First, Rest...> {
    using type = First;
};

template <class T>
inline constexpr bool is_vector = false;
template <class T, class Allocator>
inline constexpr bool is_vector<std::vector<T, Allocator>> = true;
// Arguments of gather and the like that are refused with an explanation.
template <class... Works>
concept not_to_be_run = sizeof...(Works) > 0 && !(task_like<Works> && ...) &&
                        !(is_vector<std::remove_cvref_t<Works>> || ...);

// GCC 12 destroys a temporary closure inside a co_await expression twice (PR99576): with captures
// that have destructors that is a crash, so such calls are refused. Awaitables have constructors,
// and are safe.
#if defined(WEIR_COROUTINE_TEMPORARIES_BROKEN) && WEIR_COROUTINE_TEMPORARIES_BROKEN
template <class Callable>
inline constexpr bool safe_in_await =
    std::is_lvalue_reference_v<Callable> ||
    std::is_trivially_destructible_v<std::remove_cvref_t<Callable>> || awaitable<Callable>;
#else
template <class Callable>
inline constexpr bool safe_in_await = true;
#endif
#define WEIR_CHECK_CALLABLE(Callable)                                                   \
    static_assert(                                                                      \
        ::weir::detail::safe_in_await<Callable>,                                        \
        "this compiler destroys temporary closures in co_await expressions twice (GCC " \
        "PR99576): name the lambda first, or capture by reference; see docs/compilers.md")

template <class Callable>
constexpr void check_safe_in_await() {
    WEIR_CHECK_CALLABLE(Callable);
}

}  // namespace weir::detail
