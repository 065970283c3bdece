// SPDX-License-Identifier: MIT
// The innermost layer of every policy: the user's callable, and how it ended, as a value.
//
// A callable takes nothing, the number of the attempt (int, from 1), or the call_context&, and gives a
// task, something else that can be awaited, or a plain value.
#pragma once

#include <weir/detail/to_task.hpp>
#include <weir/flow/policy.hpp>

#include <functional>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

template <class Callable>
decltype(auto) invoke_call(Callable& callable, call_context& call) {
    if constexpr (std::is_invocable_v<Callable&, call_context&>) {
        return std::invoke(callable, call);
    } else if constexpr (std::is_invocable_v<Callable&, int>) {
        return std::invoke(callable, static_cast<int>(call.attempt()));
    } else {
        static_assert(std::is_invocable_v<Callable&>,
                      "the callable must take no arguments, the number of the attempt (int), or a "
                      "weir::call_context&");
        return std::invoke(callable);
    }
}

template <class Callable>
using call_result_t =
    decltype(invoke_call(std::declval<Callable&>(), std::declval<call_context&>()));

template <class Result>
struct call_value {
    using type = kept_t<Result>;
};
template <awaitable Result>
struct call_value<Result> {
    using type = kept_t<awaited_t<std::remove_cvref_t<Result>>>;
};
// What the callable gives in the end.
template <class Callable>
using call_value_t = typename call_value<call_result_t<Callable>>::type;

// A stop of the calling task that somebody turned into an exception is not an ending of the call: it
// goes on its way. Anything else becomes an outcome.
template <class T>
outcome<T> outcome_of_current_exception() {
    try {
        throw;
    } catch (const cancelled& stop) {
        if (stop.origin() != 0) {
            throw;
        }
        return outcome<T>::from_cancellation(stop.reason());
    } catch (...) {
        return outcome<T>::from_error(std::current_exception());
    }
}

// At the end of a call: has the fiber been suspended meanwhile? Then it goes on from the loop, no more
// nested in its caller, and the time that the context knows is an old one.
class clock_keeper {
public:
    explicit clock_keeper(call_context& call) noexcept
        : call_(call), depth_(this_thread.call_depth) {}
    clock_keeper(const clock_keeper&) = delete;
    clock_keeper& operator=(const clock_keeper&) = delete;
    ~clock_keeper() {
        if (depth_ == 0 || this_thread.call_depth != depth_) {
            call_.time_passed();
        }
    }

private:
    call_context& call_;
    unsigned depth_;
};

// Calls it, and gives the outcome. The callable must outlive the task.
template <class Callable, class T = call_value_t<Callable>>
task<outcome<T>> settle_call(Callable& callable, call_context& call) {
    const clock_keeper keeper(call);
    try {
        if constexpr (awaitable<call_result_t<Callable>>) {
            if constexpr (std::is_void_v<T>) {
                co_await invoke_call(callable, call);
                co_return outcome<T>::from_value();
            } else {
                co_return outcome<T>::from_value(co_await invoke_call(callable, call));
            }
        } else if constexpr (std::is_void_v<T>) {
            invoke_call(callable, call);
            co_return outcome<T>::from_value();
        } else {
            co_return outcome<T>::from_value(invoke_call(callable, call));
        }
    } catch (...) {
        co_return outcome_of_current_exception<T>();
    }
}

// As the `next` of the innermost policy.
template <class Callable>
class innermost {
public:
    using value_type = call_value_t<Callable>;
    explicit innermost(Callable& callable) noexcept : callable_(&callable) {}
    task<outcome<value_type>> operator()(call_context& call) const {
        return settle_call(*callable_, call);
    }

private:
    Callable* callable_;
};

// The value of an outcome, or its error thrown; a refusal names who refused.
template <class T>
T value_of(outcome<T>&& ended, std::string_view by) {
    if (ended.is_refused()) [[unlikely]] {
        throw refused(ended.refusal(), by);
    }
    return std::move(ended).value();
}

}  // namespace detail
}  // namespace weir
