// SPDX-License-Identifier: MIT
// spawn: starts a task that runs on its own, in the loop's root group.
#pragma once

#include <weir/handle.hpp>
#include <weir/local.hpp>
#include <weir/loop.hpp>
#include <weir/task.hpp>

#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

template <class Callable, class... Args>
concept starts_task =
    requires { requires is_task<std::invoke_result_t<Callable, Args...>>::value; };

// GCC 12 warns about frames that hold a closure of a function without linkage, such as a test.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
// Keeps the callable and the arguments alive as long as the task.
template <class Callable, class... Args>
auto call_owned(Callable callable, Args... args) -> std::invoke_result_t<Callable&, Args...> {
    co_return co_await std::invoke(callable, std::move(args)...);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <class T>
inline constexpr bool takes_only_values = false;
template <class T, class... Params>
inline constexpr bool takes_only_values<task<T> (*)(Params...)> =
    (!std::is_reference_v<Params> && ...);
template <class T, class... Params>
inline constexpr bool takes_only_values<task<T> (*)(Params...) noexcept> =
    (!std::is_reference_v<Params> && ...);

// A task that calls the callable, both owned. Where the coroutine copies everything anyway, it is
// called directly and saves a frame.
template <class Callable, class... Args>
    requires starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>
auto make_task(Callable&& callable, Args&&... args) {
    using plain = std::decay_t<Callable>;
    WEIR_CHECK_ALIGNMENT(plain);
    (check_alignment<std::decay_t<Args>>(), ...);
    if constexpr (takes_only_values<plain>) {
        return callable(std::forward<Args>(args)...);
    } else {
        return call_owned<plain, std::decay_t<Args>...>(std::forward<Callable>(callable),
                                                        std::forward<Args>(args)...);
    }
}

inline start_options to_start_options(const spawn_options& given, const loop_core& home) noexcept {
    start_options made;
    made.name = given.name;
    made.eager = given.start == start::eager || (given.start == start::by_default && home.eager());
    made.context = given.context != nullptr ? given.context->cell() : nullptr;
    return made;
}

template <class Given, class... Args>
concept not_spawnable =
    !starts_task<std::decay_t<Given>&, std::decay_t<Args>...> &&
    !std::is_same_v<std::decay_t<Given>, spawn_options> &&
    (!is_task<std::remove_cvref_t<Given>>::value || std::is_lvalue_reference_v<Given>);

enum class unspawnable : unsigned char { task, operation, arguments, result };
template <class Given, class... Args>
constexpr unspawnable kind_of_unspawnable() {
    using plain = std::remove_cvref_t<Given>;
    if constexpr (is_task<plain>::value) {
        return unspawnable::task;
    } else if constexpr (leaf_operation<plain> || bounded_awaitable<plain>) {
        return unspawnable::operation;
    } else if constexpr (std::is_invocable_v<std::decay_t<Given>&, std::decay_t<Args>...>) {
        return unspawnable::result;
    } else {
        return unspawnable::arguments;
    }
}

// Says what to write in place of `spawn(given, args...)`.
template <unspawnable Kind, bool IsMoved = Kind != unspawnable::task,
          bool IsNoOperation = Kind != unspawnable::operation,
          bool CanBeCalled = Kind != unspawnable::arguments,
          bool ReturnsTask = Kind != unspawnable::result>
constexpr void explain_spawn() {
    static_assert(IsMoved, "a task is consumed by spawning it: write spawn(std::move(task))");
    static_assert(IsNoOperation,
                  "an operation is awaited, not spawned: write co_await, or spawn a "
                  "function that awaits it");
    static_assert(CanBeCalled,
                  "the function cannot be called with these arguments: spawn(fn, args...) calls fn "
                  "with copies of args as rvalues; write std::ref(x) for a parameter of type X&");
    static_assert(ReturnsTask,
                  "the function does not return a task: write '-> weir::task<>' (or "
                  "task<T>) and use co_await or co_return in it");
}

}  // namespace detail

// spawn(fn, args...) and spawn(options, fn, args...), for functions and for members of groups. One
// overload for each number of arguments up to four, because a parameter with a default, the place
// of the call, cannot follow a pack. With more arguments, reports name the coroutine that called
// spawn, at its latest co_await. Beside them stand spawn(task&&, options, where), and the overload
// for everything else, which is no part of the macro because compilers would mention that.
#define WEIR_SPAWN_CALLS(QUALIFIER)                                                                \
    template <class Callable>                                                                      \
        requires detail::starts_task<std::decay_t<Callable>&>                                      \
    auto spawn(Callable&& callable, std::source_location where = std::source_location::current())  \
        QUALIFIER {                                                                                \
        return spawn(detail::make_task(std::forward<Callable>(callable)), spawn_options(), where); \
    }                                                                                              \
    template <class Callable, class First>                                                         \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>>                 \
    auto spawn(Callable&& callable, First&& first,                                                 \
               std::source_location where = std::source_location::current()) QUALIFIER {           \
        return spawn(                                                                              \
            detail::make_task(std::forward<Callable>(callable), std::forward<First>(first)),       \
            spawn_options(), where);                                                               \
    }                                                                                              \
    template <class Callable, class First, class Second>                                           \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>,                 \
                                     std::decay_t<Second>>                                         \
    auto spawn(Callable&& callable, First&& first, Second&& second,                                \
               std::source_location where = std::source_location::current()) QUALIFIER {           \
        return spawn(detail::make_task(std::forward<Callable>(callable),                           \
                                       std::forward<First>(first), std::forward<Second>(second)),  \
                     spawn_options(), where);                                                      \
    }                                                                                              \
    template <class Callable, class First, class Second, class Third>                              \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>,                 \
                                     std::decay_t<Second>, std::decay_t<Third>>                    \
    auto spawn(Callable&& callable, First&& first, Second&& second, Third&& third,                 \
               std::source_location where = std::source_location::current()) QUALIFIER {           \
        return spawn(                                                                              \
            detail::make_task(std::forward<Callable>(callable), std::forward<First>(first),        \
                              std::forward<Second>(second), std::forward<Third>(third)),           \
            spawn_options(), where);                                                               \
    }                                                                                              \
    template <class Callable, class First, class Second, class Third, class Fourth>                \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>,                 \
                                     std::decay_t<Second>, std::decay_t<Third>,                    \
                                     std::decay_t<Fourth>>                                         \
    auto spawn(Callable&& callable, First&& first, Second&& second, Third&& third,                 \
               Fourth&& fourth, std::source_location where = std::source_location::current())      \
        QUALIFIER {                                                                                \
        return spawn(detail::make_task(std::forward<Callable>(callable),                           \
                                       std::forward<First>(first), std::forward<Second>(second),   \
                                       std::forward<Third>(third), std::forward<Fourth>(fourth)),  \
                     spawn_options(), where);                                                      \
    }                                                                                              \
    template <class Callable>                                                                      \
        requires detail::starts_task<std::decay_t<Callable>&>                                      \
    auto spawn(const spawn_options& options, Callable&& callable,                                  \
               std::source_location where = std::source_location::current()) QUALIFIER {           \
        return spawn(detail::make_task(std::forward<Callable>(callable)), options, where);         \
    }                                                                                              \
    template <class Callable, class First>                                                         \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>>                 \
    auto spawn(const spawn_options& options, Callable&& callable, First&& first,                   \
               std::source_location where = std::source_location::current()) QUALIFIER {           \
        return spawn(                                                                              \
            detail::make_task(std::forward<Callable>(callable), std::forward<First>(first)),       \
            options, where);                                                                       \
    }                                                                                              \
    template <class Callable, class First, class Second>                                           \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>,                 \
                                     std::decay_t<Second>>                                         \
    auto spawn(const spawn_options& options, Callable&& callable, First&& first, Second&& second,  \
               std::source_location where = std::source_location::current()) QUALIFIER {           \
        return spawn(detail::make_task(std::forward<Callable>(callable),                           \
                                       std::forward<First>(first), std::forward<Second>(second)),  \
                     options, where);                                                              \
    }                                                                                              \
    template <class Callable, class First, class Second, class Third>                              \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>,                 \
                                     std::decay_t<Second>, std::decay_t<Third>>                    \
    auto spawn(const spawn_options& options, Callable&& callable, First&& first, Second&& second,  \
               Third&& third, std::source_location where = std::source_location::current())        \
        QUALIFIER {                                                                                \
        return spawn(                                                                              \
            detail::make_task(std::forward<Callable>(callable), std::forward<First>(first),        \
                              std::forward<Second>(second), std::forward<Third>(third)),           \
            options, where);                                                                       \
    }                                                                                              \
    template <class Callable, class First, class Second, class Third, class Fourth>                \
        requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<First>,                 \
                                     std::decay_t<Second>, std::decay_t<Third>,                    \
                                     std::decay_t<Fourth>>                                         \
    auto spawn(const spawn_options& options, Callable&& callable, First&& first, Second&& second,  \
               Third&& third, Fourth&& fourth,                                                     \
               std::source_location where = std::source_location::current()) QUALIFIER {           \
        return spawn(detail::make_task(std::forward<Callable>(callable),                           \
                                       std::forward<First>(first), std::forward<Second>(second),   \
                                       std::forward<Third>(third), std::forward<Fourth>(fourth)),  \
                     options, where);                                                              \
    }                                                                                              \
    template <class Callable, class... Args>                                                       \
        requires(sizeof...(Args) > 4 &&                                                            \
                 detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>)              \
    auto spawn(Callable&& callable, Args&&... args) QUALIFIER {                                    \
        return spawn(                                                                              \
            detail::make_task(std::forward<Callable>(callable), std::forward<Args>(args)...));     \
    }                                                                                              \
    template <class Callable, class... Args>                                                       \
        requires(sizeof...(Args) > 4 &&                                                            \
                 detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>)              \
    auto spawn(const spawn_options& options, Callable&& callable, Args&&... args) QUALIFIER {      \
        return spawn(                                                                              \
            detail::make_task(std::forward<Callable>(callable), std::forward<Args>(args)...),      \
            options);                                                                              \
    }

// The task runs to its end even without a handle; an error that is never retrieved is reported. At
// the end of run, tasks that still run are cancelled and awaited.
template <class T>
handle<T> spawn(task<T>&& work, const spawn_options& options = {},
                std::source_location where = std::source_location::current()) {
    if (loop::current_or_null() == nullptr) {
        work.discard();
    }
    return loop::current().spawn(std::move(work), options, where);
}

// spawn(fn, args...) and spawn(options, fn, args...): calls fn(args...) in a task of its own, which
// owns fn and the arguments.
WEIR_SPAWN_CALLS()

// Everything else: what to write instead.
template <class Given, class... Args>
    requires detail::not_spawnable<Given, Args...>
detail::refused_call spawn(Given&&, Args&&...) {
    detail::explain_spawn<detail::kind_of_unspawnable<Given, Args...>()>();
    return {};
}

}  // namespace weir
