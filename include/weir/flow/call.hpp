// SPDX-License-Identifier: MIT
// The user's callable as policies see it: how it is called, and its outcome as a value.
//
// A callable takes no argument, the number of the attempt (int, from 1), or a call_context&. It
// returns a task, another awaitable, or a plain value.
//
// Layers of policies are boundaries that contain one another: a call through five layers is one
// object in the frame of the awaiting coroutine, and the only other frame is that of the user's
// task. A layer that has to wait starts a coroutine for the wait.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/base/to_task.hpp>
#include <weir/flow/policy.hpp>

#include <functional>
#include <memory>
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

// The value that the callable finally yields.
template <class Callable>
using call_value_t = typename call_value<call_result_t<Callable>>::type;

// The outcome of a call that ended with this error. A stop of the calling task that was turned into
// an exception (catchable) is rethrown. Other errors are not rethrown to find out their type.
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

// Calls a callable that returns a plain value. Exceptions propagate to the caller.
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

// Marks the context's time as stale if the fiber was suspended since construction: then the loop
// resumes it, and it no longer runs nested in its caller.
class clock_keeper {
public:
    explicit clock_keeper(call_context& call) noexcept
        : call_(&call), depth_(this_thread.call_depth) {}
    void refresh() const noexcept {
        if (depth_ == 0 || this_thread.call_depth != depth_) {
            call_->time_passed();
        }
    }

private:
    call_context* call_;
    unsigned depth_;
};

// Whether the caller was stopped since construction.
//
// A stop normally passes through a policy. But an error thrown by clean-up replaces the stop, and
// code that intercepts the stop may return normally: then a policy sees an ordinary outcome of a
// call that was stopped. It passes the outcome on without a retry or a fallback.
class stop_memory {
public:
    stop_memory() noexcept : before_(stops()) {}
    // Whether a stop of the running task, or of a scope that enclosed it, has been answered since
    // construction. A stop that is still pending has not.
    bool was_stopped() const noexcept { return stops() > before_; }

private:
    static unsigned stops() noexcept {
        const fiber* on = this_thread.running;
        if (on == nullptr) {
            return 0;
        }
        unsigned found = on->has(root_requested) ? 0 : on->cancel_count;
        for (const scope* each = on->scopes; each != nullptr; each = each->outer) {
            found += each->answered ? 1 : 0;
        }
        return found;
    }
    unsigned before_;
};

// A boundary around a task. Stops pass through it. Child: a child_call; Derived provides
// await_resume().
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

// The outcome of a task that a callable returns, without a frame of its own.
template <class T>
class WEIR_MUST_AWAIT settled_task_call final
    : public around_task<settled_task_call<T>, child_call<T>> {
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
        keeper_.refresh();
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

// The outcome of a callable that returns a plain value.
template <class T, class Callable>
class WEIR_MUST_AWAIT settled_plain_call final : public boundary_awaitable {
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

// The outcome of a callable that returns another awaitable: a handle, an operation.
template <class T, class Callable>
task<outcome<T>> settled_other_call(Callable& callable, call_context& call) {
    const clock_keeper keeper(call);
    try {
        if constexpr (std::is_void_v<T>) {
            co_await invoke_call(callable, call);
            keeper.refresh();
            co_return outcome<T>::from_value();
        } else {
            outcome<T> ended = outcome<T>::from_value(co_await invoke_call(callable, call));
            keeper.refresh();
            co_return ended;
        }
    } catch (...) {
        call.time_passed();
        co_return outcome_of_current_exception<T>();
    }
}

// co_await settle_call(callable, context): calls the callable; its outcome. The callable must
// outlive the call.
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

// The user's callable as the `next` of the innermost policy.
template <class Callable>
class innermost {
public:
    using value_type = call_value_t<Callable>;
    explicit innermost(Callable& callable) noexcept : callable_(&callable) {}
    auto operator()(call_context& call) const { return settle_call(*callable_, call); }

private:
    Callable* callable_;
};

// The same where calls may outlive the policy's answer: each call shares ownership of the callable.
template <class Fn>
class owned_innermost {
public:
    using value_type = call_value_t<Fn>;

    template <class Given>
    explicit owned_innermost(Given&& fn) : fn_(std::make_shared<Fn>(std::forward<Given>(fn))) {}
    task<outcome<value_type>> operator()(call_context& call) const { return keep(fn_, call); }

private:
    static task<outcome<value_type>> keep(std::shared_ptr<Fn> fn, call_context& call) {
        co_return co_await settle_call(*fn, call);
    }
    std::shared_ptr<Fn> fn_;
};

// A policy whose calls may outlive its answer (the losers of a hedge): the callable must live as
// long as the last call.
template <class Policy>
concept outlives_call = requires { requires Policy::outlives_call; };

// The `next` for a callable held as Held. With IsOwned it owns the callable, copied if it is a
// reference.
template <bool IsOwned, class Held>
auto innermost_of(std::remove_reference_t<Held>& fn) {
    if constexpr (IsOwned) {
        return owned_innermost<std::remove_cvref_t<Held>>(static_cast<Held&&>(fn));
    } else {
        return innermost<std::remove_reference_t<Held>>(fn);
    }
}

// The result of `next(call)` as the child of a layer's boundary. Awaitable: in general a boundary
// itself.
template <class Awaitable>
class inner_call {
public:
    // Constructed in place, or moved in before it has started.
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
    void lost() noexcept {}  // a stop has passed through it
    auto take() { return inner_.await_resume(); }

private:
    Awaitable inner_;
};

// A custom policy that is a coroutine. An exception that it throws is its outcome.
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

// The same as an awaitable for coroutines.
template <class T>
class WEIR_MUST_AWAIT settled_policy_call final
    : public around_task<settled_policy_call<T>, inner_call<task<outcome<T>>>> {
public:
    static constexpr const char* boundary_name = "policy";
    explicit settled_policy_call(task<outcome<T>>&& work)
        : around_task<settled_policy_call, inner_call<task<outcome<T>>>>(std::move(work)) {}
    outcome<T> await_resume() { return this->work_.take(); }
};

// co_await settle_next(next, call): always an outcome, even if the next policy is a coroutine that
// throws.
template <class Next>
auto settle_next(Next& next, call_context& call) {
    using value = typename Next::value_type;
    if constexpr (std::is_same_v<decltype(next(call)), task<outcome<value>>>) {
        return settled_policy_call<value>(next(call));
    } else {
        return next(call);
    }
}

// A plain call has nothing to wait for: the parent continues at once.
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

// The child of a layer with this `next`.
template <class Next>
using inner_call_of = inner_call<decltype(std::declval<Next&>()(std::declval<call_context&>()))>;

// The value of an outcome. Throws its error; a refusal names the policy.
template <class T>
T value_of(outcome<T>&& ended, std::string_view policy_name) {
    if (ended.is_refused()) [[unlikely]] {
        throw refused(ended.refusal(), policy_name);
    }
    return std::move(ended).value();
}

// The result of a call: its value for run(fn), the outcome itself for settle(fn).
enum class call_view : unsigned char { value, outcome };

template <call_view View, class T>
using viewed_t = std::conditional_t<View == call_view::outcome, outcome<T>, T>;
template <call_view View, class T>
viewed_t<View, T> view_of(outcome<T>&& ended, std::string_view policy_name) {
    if constexpr (View == call_view::outcome) {
        return std::move(ended);
    } else {
        return value_of(std::move(ended), policy_name);
    }
}

// run(fn) and settle(fn) behind `waiting`, an awaitable admission: the call is made once admitted.
// Owner: a pointer to the object that admits.
template <call_view View, class Work, class Owner, class Admit,
          class T = call_value_t<std::remove_reference_t<Work>>>
task<viewed_t<View, T>> call_when_admitted(Owner owner, Admit waiting, Work work, double weight) {
    auto admitted = co_await std::move(waiting);
    if (!admitted) {
        co_return view_of<View>(outcome<T>::from_refusal(admitted.refusal()), owner->name());
    }
    call_context call(owner->name(), weight);
    outcome<T> ended = co_await settle_call(work, call);
    co_return view_of<View>(std::move(ended), owner->name());
}

}  // namespace detail
}  // namespace weir
