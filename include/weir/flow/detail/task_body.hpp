// SPDX-License-Identifier: MIT
// task_body: every kind of work that a task manager accepts, as one type of function.
#pragma once

#include <weir/cancel.hpp>
#include <weir/executor.hpp>
#include <weir/flow/detail/signature.hpp>
#include <weir/flow/managed_task.hpp>
#include <weir/flow/task_context.hpp>

#include <any>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace weir::detail {

// The result of a task: the value, and its text if its type has a task_text.
struct task_value {
    task_value() = default;
    std::any value;
    std::string text;
};
using task_body = unique_function<task<task_value>(task_context&)>;
using task_handler = unique_function<task<task_value>(task_context&, std::string payload)>;

template <class T>
task_value to_task_value(T&& given) {
    using plain = std::remove_cvref_t<T>;
    static_assert(std::copy_constructible<plain>,
                  "the result of a managed task is copied to each caller that reads it: return a "
                  "copyable type, for example a std::shared_ptr");
    task_value made;
    if constexpr (requires { task_text<plain>::write(given); }) {
        made.text = task_text<plain>::write(given);
    }
    made.value = std::forward<T>(given);
    return made;
}

template <class T>
task<task_value> valued(task<T> work) {
    if constexpr (std::is_void_v<T>) {
        co_await std::move(work);
        co_return task_value();
    } else {
        co_return to_task_value(co_await std::move(work));
    }
}

// A ready-made task, which may never be run.
template <class T>
struct body_of_task {
    explicit body_of_task(task<T>&& given) noexcept : work(std::move(given)) {}
    body_of_task(body_of_task&&) noexcept = default;
    ~body_of_task() { work.discard(); }
    task<task_value> operator()(task_context&) { return valued(std::move(work)); }
    task<T> work;
};

// ---- coroutines ---------------------------------------------------------------------------------

template <class Callable, class... Args>
inline constexpr bool takes_context = std::invocable<Callable&, task_context&, Args...>;

template <class Callable, class... Args>
task<task_value> await_body(Callable callable, std::tuple<Args...> args, task_context& context) {
    auto call = [&]() -> decltype(auto) {
        return std::apply(
            [&](Args&... each) -> decltype(auto) {
                if constexpr (takes_context<Callable, Args...>) {
                    return std::invoke(callable, context, std::move(each)...);
                } else {
                    return std::invoke(callable, std::move(each)...);
                }
            },
            args);
    };
    using value = typename call_value<decltype(call())>::type;
    if constexpr (std::is_void_v<value>) {
        co_await call();
        co_return task_value();
    } else {
        co_return to_task_value(co_await call());
    }
}

// ---- functions that block -----------------------------------------------------------------------

// Shared with the thread that runs it: a loop that ends may have to stop waiting for the thread.
template <class Callable, class... Args>
struct blocking_call {
    blocking_call(Callable&& function, std::tuple<Args...>&& arguments, blocking_context&& task)
        : callable(std::move(function)), args(std::move(arguments)), context(std::move(task)) {}
    Callable callable;
    std::tuple<Args...> args;
    blocking_context context;
    task_value value;
    std::exception_ptr error;

    void run() noexcept {
        try {
            auto call = [this]() -> decltype(auto) {
                return std::apply(
                    [this](Args&... each) -> decltype(auto) {
                        if constexpr (std::invocable<Callable&, blocking_context&, Args...>) {
                            return std::invoke(callable, context, std::move(each)...);
                        } else {
                            return std::invoke(callable, std::move(each)...);
                        }
                    },
                    args);
            };
            if constexpr (std::is_void_v<decltype(call())>) {
                call();
            } else {
                value = to_task_value(call());
            }
        } catch (...) {
            error = std::current_exception();
        }
    }
};

template <class Callable, class... Args>
task<task_value> block_elsewhere(Callable callable, std::tuple<Args...> args, executor& where,
                                 task_context& context) {
    auto shared = std::make_shared<blocking_call<Callable, Args...>>(
        std::move(callable), std::move(args), context.for_thread());
    executor::work work = [shared] { shared->run(); };
    co_await shield(where.run(std::move(work)));
    if (shared->error != nullptr) {
        std::rethrow_exception(shared->error);
    }
    co_return std::move(shared->value);
}

template <class Callable, class... Args>
concept blocks =
    (std::invocable<Callable&, Args...> && !awaitable<std::invoke_result_t<Callable&, Args...>>) ||
    std::invocable<Callable&, blocking_context&, Args...>;
template <class Callable, class... Args>
concept runs_as_task =
    std::invocable<Callable&, task_context&, Args...> || std::invocable<Callable&, Args...> ||
    std::invocable<Callable&, blocking_context&, Args...>;

// Throws invalid_state if there is no executor.
executor& executor_for_blocking(executor* given, std::string_view manager);

template <class Callable, class... Args>
task_body make_task_body(executor* where, std::string_view manager, Callable&& callable,
                         Args&&... args) {
    using plain = std::decay_t<Callable>;
    using held = std::tuple<std::decay_t<Args>...>;
    if constexpr (takes_context<plain, std::decay_t<Args>...> ||
                  !blocks<plain, std::decay_t<Args>...>) {
        return [called = plain(std::forward<Callable>(callable)),
                given = held(std::forward<Args>(args)...)](task_context& context) mutable {
            return await_body<plain, std::decay_t<Args>...>(std::move(called), std::move(given),
                                                            context);
        };
    } else {
        executor& elsewhere = executor_for_blocking(where, manager);
        return
            [called = plain(std::forward<Callable>(callable)),
             given = held(std::forward<Args>(args)...), &elsewhere](task_context& context) mutable {
                return block_elsewhere<plain, std::decay_t<Args>...>(
                    std::move(called), std::move(given), elsewhere, context);
            };
    }
}

}  // namespace weir::detail
