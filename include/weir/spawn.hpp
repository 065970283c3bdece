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

template <class T>
struct is_task : std::false_type {};
template <class T>
struct is_task<task<T>> : std::true_type {};

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

}  // namespace detail

// The task runs to its end even without a handle; an error that is never retrieved is reported. At
// the end of run, tasks that still run are cancelled and awaited.
template <class T>
handle<T> spawn(task<T> work, const spawn_options& options = {},
                std::source_location where = std::source_location::current()) {
    if (loop::current_or_null() == nullptr) {
        work.discard();
    }
    return loop::current().spawn(std::move(work), options, where);
}

// Calls fn(args...) in a task of its own, which owns fn and the arguments.
template <class Callable, class... Args>
    requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>
auto spawn(Callable&& callable, Args&&... args) {
    return spawn(detail::make_task(std::forward<Callable>(callable), std::forward<Args>(args)...));
}

template <class Callable, class... Args>
    requires detail::starts_task<std::decay_t<Callable>&, std::decay_t<Args>...>
auto spawn(const spawn_options& options, Callable&& callable, Args&&... args) {
    return spawn(detail::make_task(std::forward<Callable>(callable), std::forward<Args>(args)...),
                 options);
}

}  // namespace weir
