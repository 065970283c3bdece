// SPDX-License-Identifier: MIT
// The innermost layer of every policy: the user's callable, and how it ended, as a value.
//
// A callable takes nothing, the number of the attempt (int, from 1), or the call_context&, and
// gives a task, something else that can be awaited, or a plain value.
#pragma once

#include <weir/base/to_task.hpp>
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

// What the callable gives in the end.
template <class Callable>
using call_value_t = typename call_value<call_result_t<Callable>>::type;

// An error as the ending of a call. A stop of the calling task that somebody turned into an
// exception is none: it goes on its way. Nothing is thrown again to find out which it is.
template <class T>
outcome<T> outcome_of_error(const std::exception_ptr& error) {
    if (!is_cancellation(error)) [[likely]] {
        return outcome<T>::from_error(error);
    }
    try {
        std::rethrow_exception(error);
    } catch (const cancelled& stop) {
        if (stop.origin() != 0) {
            throw;
        }
        return outcome<T>::from_cancellation(stop.reason());
    }
}
template <class T>
outcome<T> outcome_of_current_exception() {
    return outcome_of_error<T>(std::current_exception());
}

// Calls what gives a plain value; its exceptions are the caller's.
template <class Callable>
auto call_plain(Callable& callable, call_context& call) {
    using value = call_value_t<Callable>;
    if constexpr (std::is_void_v<value>) {
        invoke_call(callable, call);
        return outcome<value>::from_value();
    } else {
        return outcome<value>::from_value(invoke_call(callable, call));
    }
}

// Has the fiber been suspended since? Then it goes on from the loop, no more nested in its caller,
// and the time that the context knows is an old one.
class clock_keeper {
public:
    explicit clock_keeper(call_context& call) noexcept
        : call_(&call), depth_(this_thread.call_depth) {}
    void look() const noexcept {
        if (depth_ == 0 || this_thread.call_depth != depth_) {
            call_->time_passed();
        }
    }

private:
    call_context* call_;
    unsigned depth_;
};

// A boundary around a task, which lets stops pass. Child: a child_call; Derived gives its result.
template <class Derived, class Child>
class around_task : public bounded<Derived, boundary> {
public:
    void enter(fiber& on) noexcept {
        if (work_.exists()) [[likely]] {
            work_.enter(*this, on);
        } else {
            skip_child(*this, on);
        }
    }
    next_step advance(fiber& on) noexcept { return return_to_parent(*this, on); }
    next_step stopped(fiber& on, walk& by) noexcept {
        work_.lost();
        if (by.error == nullptr) {
            return let_pass(*this, on);
        }
        work_.fail(std::move(by.error));
        return return_to_parent(*this, on);
    }

protected:
    template <class... Args>
    explicit around_task(Args&&... args)
        : bounded<Derived, boundary>(table_of<Derived>), work_(std::forward<Args>(args)...) {}
    around_task(around_task&&) noexcept = default;
    ~around_task() = default;

    Child work_;
};

// How a task that a callable makes ends, without a frame of its own.
template <class T>
class settled_task_call final : public around_task<settled_task_call<T>, child_call<T>> {
public:
    static constexpr const char* boundary_name = "call";

    template <class Callable>
    settled_task_call(Callable& callable, call_context& call) : keeper_(call) {
        try {
            this->work_.assign(invoke_call(callable, call));
        } catch (...) {
            this->work_.fail(std::current_exception());
        }
    }

    outcome<T> await_resume() {
        keeper_.look();
        if (!this->work_.has_value()) [[unlikely]] {
            return outcome_of_error<T>(this->work_.error());
        }
        if constexpr (std::is_void_v<T>) {
            this->work_.destroy();
            return outcome<T>::from_value();
        } else {
            return outcome<T>::from_value(this->work_.take());
        }
    }

private:
    clock_keeper keeper_;
};

// The same for a callable that gives a plain value.
template <class T, class Callable>
class settled_plain_call final : public boundary_awaitable {
public:
    settled_plain_call(Callable& callable, call_context& call) noexcept
        : callable_(&callable), call_(&call) {}
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    outcome<T> await_resume() {
        try {
            return call_plain(*callable_, *call_);
        } catch (...) {
            return outcome_of_current_exception<T>();
        }
    }

private:
    Callable* callable_;
    call_context* call_;
};

template <class Call>
inline constexpr bool is_plain_call = false;
template <class T, class Callable>
inline constexpr bool is_plain_call<settled_plain_call<T, Callable>> = true;

// And for one that gives something else to await: a handle, an operation.
template <class T, class Callable>
task<outcome<T>> settled_other_call(Callable& callable, call_context& call) {
    const clock_keeper keeper(call);
    try {
        if constexpr (std::is_void_v<T>) {
            co_await invoke_call(callable, call);
            keeper.look();
            co_return outcome<T>::from_value();
        } else {
            outcome<T> ended = outcome<T>::from_value(co_await invoke_call(callable, call));
            keeper.look();
            co_return ended;
        }
    } catch (...) {
        call.time_passed();
        co_return outcome_of_current_exception<T>();
    }
}

// co_await settle_call(callable, context): calls it, and gives the outcome. The callable must
// outlive it.
template <class Callable>
auto settle_call(Callable& callable, call_context& call) {
    using result = call_result_t<Callable>;
    using value = call_value_t<Callable>;
    if constexpr (std::is_same_v<std::remove_cvref_t<result>, task<value>>) {
        return settled_task_call<value>(callable, call);
    } else if constexpr (awaitable<result>) {
        return settled_other_call<value>(callable, call);
    } else {
        return settled_plain_call<value, Callable>(callable, call);
    }
}

// As the `next` of the innermost policy.
template <class Callable>
class innermost {
public:
    using value_type = call_value_t<Callable>;
    explicit innermost(Callable& callable) noexcept : callable_(&callable) {}
    auto operator()(call_context& call) const { return settle_call(*callable_, call); }

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

// What run(fn) and settle(fn) give of a call: its value, or the outcome itself.
enum class call_view : unsigned char { value, outcome };

template <call_view View, class T>
using viewed_t = std::conditional_t<View == call_view::outcome, outcome<T>, T>;
template <call_view View, class T>
viewed_t<View, T> view_of(outcome<T>&& ended, std::string_view by) {
    if constexpr (View == call_view::outcome) {
        return std::move(ended);
    } else {
        return value_of(std::move(ended), by);
    }
}

}  // namespace detail
}  // namespace weir
