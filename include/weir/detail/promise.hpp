// SPDX-License-Identifier: MIT
// What all coroutines of the library share: recycled frames, the await stack, and the trampoline.
//
// A coroutine that awaits another notes in this_thread.next which one is to run, and returns to
// loop_core::step, which resumes it. The machine stack stays flat at any depth of awaits and in any
// build mode, which symmetric transfer does not promise. As a short cut, calls are nested on the
// machine stack up to a small fixed depth.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/frame_alignment.hpp>
#include <weir/base/result.hpp>
#include <weir/detail/frame_pool.hpp>

#include <concepts>
#include <coroutine>
#include <source_location>
#include <type_traits>

namespace weir {
template <class T>
class task;
template <class T>
class outcome;
template <class T>
class promise;
class cancel_scope;
class task_group;
}  // namespace weir

namespace weir::detail {

struct deferred;
struct promise_base;
template <class T>
struct task_promise;
template <class T>
class task_awaiter;

// Awaitables that put a boundary on the stack derive from this; they are awaiters themselves.
struct boundary_awaitable {};

// Stands for an awaiter that must stay where it is: GCC 12 copies what await_transform refers to.
template <class Awaiter>
class referring_awaiter {
public:
    explicit referring_awaiter(Awaiter& awaiter) noexcept : awaiter_(awaiter) {}
    bool await_ready() noexcept { return awaiter_.await_ready(); }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> caller) noexcept {
        return awaiter_.await_suspend(caller);
    }
    decltype(auto) await_resume() { return awaiter_.await_resume(); }

private:
    Awaiter& awaiter_;
};

// An operation; a light one has its own leaf_awaiter instead of the functions of the protocol.
template <class T>
concept leaf_operation = std::derived_from<std::remove_cvref_t<T>, operation> ||
                         requires { typename std::remove_cvref_t<T>::is_light; };
template <class T>
concept bounded_awaitable = std::derived_from<std::remove_cvref_t<T>, boundary_awaitable>;
// handle, future and the like: each await makes an operation.
template <class T>
concept makes_operation = requires(T&& value) { static_cast<T&&>(value).make_operation(); };

template <class T>
struct is_task : std::false_type {};
template <class T>
struct is_task<task<T>> : std::true_type {};
template <class T>
inline constexpr bool is_outcome = false;
template <class T>
inline constexpr bool is_outcome<outcome<T>> = true;
template <class T>
inline constexpr bool is_promise = false;
template <class T>
inline constexpr bool is_promise<promise<T>> = true;

// The result of a call that was refused by a static_assert. It fits wherever a result does, so that
// the compiler says what is wrong and nothing more.
struct refused_call {
    template <class T>
    operator T() const;  // NOLINT: fits everywhere
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    refused_call await_resume() const noexcept { return {}; }
    refused_call operator*() const noexcept { return {}; }
    refused_call next() const noexcept { return {}; }
    refused_call close() const noexcept { return {}; }
};

enum class unawaitable : unsigned char { task, outcome, promise, scope, group, function, other };
template <class Given>
constexpr unawaitable kind_of_unawaitable() {
    using plain = std::remove_cvref_t<Given>;
    if constexpr (is_task<plain>::value) {
        return unawaitable::task;
    } else if constexpr (is_outcome<plain>) {
        return unawaitable::outcome;
    } else if constexpr (is_promise<plain>) {
        return unawaitable::promise;
    } else if constexpr (std::is_same_v<plain, cancel_scope>) {
        return unawaitable::scope;
    } else if constexpr (std::is_same_v<plain, task_group>) {
        return unawaitable::group;
    } else if constexpr (std::is_function_v<std::remove_pointer_t<plain>> ||
                         requires(plain& callable) { callable(); }) {
        return unawaitable::function;
    } else {
        return unawaitable::other;
    }
}

// Says what to write in place of `co_await x`. The conditions are template parameters because
// compilers then have nothing to add to the text.
template <unawaitable Kind, bool IsMoved = Kind != unawaitable::task,
          bool IsNoOutcome = Kind != unawaitable::outcome,
          bool IsNoPromise = Kind != unawaitable::promise,
          bool IsNoScope = Kind != unawaitable::scope, bool IsNoGroup = Kind != unawaitable::group,
          bool IsCalled = Kind != unawaitable::function, bool IsKnown = Kind != unawaitable::other>
constexpr void explain_await() {
    static_assert(IsMoved,
                  "a task is consumed by awaiting it: write co_await std::move(task), or "
                  "spawn it and await the handle as often as you like");
    static_assert(IsNoOutcome,
                  "an outcome is a result, there is nothing to wait for: write "
                  "outcome.value(); co_await std::move(outcome) resumes a stop that "
                  "weir::intercept has caught");
    static_assert(IsNoPromise,
                  "a promise is the side that gives: write co_await "
                  "promise.get_future()");
    static_assert(IsNoScope, "a scope is awaited with its work: write co_await scope.run(work)");
    static_assert(IsNoGroup,
                  "a group is awaited by the function that runs it: write co_await "
                  "weir::with_group(body)");
    static_assert(IsCalled, "a function is called first: write co_await function(...)");
    static_assert(IsKnown,
                  "this type cannot be awaited in a weir coroutine; wrap awaitables of "
                  "other libraries: co_await weir::foreign(x)");
}

[[noreturn]] void throw_consumed_task();
void discard_unawaited(promise_base& frame, std::coroutine_handle<> coroutine) noexcept;
void report_unawaited_work(promise_base& frame) noexcept;
void report_unawaited_call(const char* function) noexcept;
[[noreturn]] void throw_injected_error(fiber& on);
// The error of a coroutine that has ended without a value: its own; if there is none, it has left
// its body without a co_return, which compilers accept.
std::exception_ptr error_of(const promise_base& ended, std::exception_ptr own) noexcept;

constexpr unsigned nested_calls_limit = 32;

// What a std::source_location points at. A parameter of this type costs nothing; one of class type
// would be stored in the frame of the coroutine that awaits.
using place_record = decltype(__builtin_source_location());
static_assert(sizeof(place_record) == sizeof(std::source_location));

struct promise_base : frame {
    std::source_location
        here;  // of the co_await it is suspended at; before the first, its beginning
    deferred* cleanup = nullptr;  // registered by defer(), last first

    static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
    static void operator delete(void* memory, std::size_t size) noexcept {
        frame_pool::release(memory, size);
    }

    std::suspend_always initial_suspend() const noexcept { return {}; }

    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
            self.promise().leave();
        }
        void await_resume() const noexcept {}
    };
    final_awaiter final_suspend() const noexcept { return {}; }

    template <class T>
    auto await_transform(task<T>&& child, place_record where = __builtin_source_location()) {
        note_place(where);
        return task_awaiter<T>(child);
    }

    template <leaf_operation Operation>
    auto await_transform(Operation&& given,
                         place_record where = __builtin_source_location()) noexcept {
        note_place(where);
        return leaf_awaiter<std::remove_reference_t<Operation>>(given);
    }

    template <bounded_awaitable Awaitable>
    auto await_transform(Awaitable&& bounded,
                         place_record where = __builtin_source_location()) noexcept {
        note_place(where);
        return referring_awaiter<std::remove_reference_t<Awaitable>>(bounded);
    }

    template <makes_operation Source>
    auto await_transform(Source&& source, place_record where = __builtin_source_location()) {
        note_place(where);
        using made = decltype(static_cast<Source&&>(source).make_operation());
        return owning_leaf_awaiter<typename made::operation_type>(
            static_cast<Source&&>(source).make_operation());
    }

    // Everything else: what to write instead.
    template <class Other>
        requires(!leaf_operation<Other> && !bounded_awaitable<Other> && !makes_operation<Other>)
    auto await_transform(Other&&) {
        explain_await<kind_of_unawaitable<Other>()>();
        return refused_call();
    }
    auto await_transform(refused_call refused) { return refused; }

    void note_place(place_record where) noexcept {
        here = __builtin_bit_cast(std::source_location, where);
    }
    // Registers how to resume this coroutine; every promise calls it when it makes its return
    // object.
    template <class Promise>
    void know_coroutine(Promise& self, place_record beginning) noexcept {
        note_place(beginning);
        code = reinterpret_cast<std::uintptr_t>(
            std::coroutine_handle<Promise>::from_promise(self).address());
    }

    // The body has ended: the frame that awaits is next.
    void leave() noexcept {
        fiber& on = *this_thread.running;
        if (cleanup != nullptr) [[unlikely]] {
            leave_through_cleanup(on);
            return;
        }
        on.top = parent;
        this_thread.next = parent->turn().word();
    }
    void leave_through_cleanup(fiber& on) noexcept;

    // The error that left the body. GCC also comes here when a destructor throws while the frame is
    // being destroyed: that terminates, as it does with clang.
    std::exception_ptr thrown_by_body() const noexcept {
        if (this_thread.running->top != this) {
            std::terminate();
        }
        return std::current_exception();
    }
};

// Puts a coroutine on top of the stack, for somebody to resume.
inline void push_frame(promise_base& child, frame& parent, fiber& on) noexcept {
    child.parent = &parent;
    on.top = &child;
}
// The same, and has the trampoline start it.
inline void call(promise_base& child, frame& parent, fiber& on) noexcept {
    push_frame(child, parent, on);
    this_thread.next = child.coroutine();
}

template <class T>
struct task_promise : promise_base {
    WEIR_CHECK_ALIGNMENT(T);
    result<T> outcome;

    task<T> get_return_object(place_record where = __builtin_source_location()) noexcept;
    template <class U = T>
        requires std::constructible_from<T, U&&>
    void return_value(U&& value) {
        outcome.init_value(std::forward<U>(value));
    }
    void unhandled_exception() noexcept { outcome.set_error(thrown_by_body()); }
};

template <class T>
struct task_promise<T&> : promise_base {
    result<T&> outcome;

    task<T&> get_return_object(place_record where = __builtin_source_location()) noexcept;
    void return_value(T& value) noexcept { outcome.set_value(value); }
    void unhandled_exception() noexcept { outcome.set_error(thrown_by_body()); }
};

template <>
struct task_promise<void> : promise_base {
    result<void> outcome;

    task<void> get_return_object(place_record where = __builtin_source_location()) noexcept;
    void return_void() noexcept {}
    void unhandled_exception() noexcept { outcome.set_error(thrown_by_body()); }
};

// Awaiting a task is a call: the child runs on the same fiber, without a turn of the loop. Once it
// runs, the child belongs to the awaiting frame, and a stop destroys it before it destroys this: so
// this is trivially destructible. Until then the task keeps it: GCC makes all awaiters of an
// expression such as f(co_await a(), co_await b()) before it suspends at the first.
template <class T>
class task_awaiter {
    using promise = task_promise<T>;

public:
    explicit task_awaiter(task<T>& given) : given_(&given) {
        if (!given.valid()) [[unlikely]] {
            throw_consumed_task();
        }
    }

    bool await_ready() const noexcept { return false; }
    // Runs the child on the machine stack, up to a small depth: most children complete without
    // suspending, and then the caller continues at once. Otherwise all return to the trampoline.
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> caller) noexcept {
        thread_state& thread = this_thread;
        child_ = std::coroutine_handle<promise>::from_address(given_->release_frame());
        push_frame(child_.promise(), caller.promise(), *thread.running);
        if (thread.call_depth == nested_calls_limit) [[unlikely]] {
            thread.next = child_.address();
            return true;
        }
        ++thread.call_depth;
        child_.resume();
        --thread.call_depth;
        if (thread.next != caller.address()) {
            return true;
        }
        thread.next = nullptr;
        return false;
    }
    T await_resume() {
        if (this_thread.error_is_injected) [[unlikely]] {
            throw_injected_error(*this_thread.running);  // the child is gone
        }
        frame_owner owner{child_};
        promise& ended = owner.child.promise();
        if (!ended.outcome.has_value()) [[unlikely]] {
            std::rethrow_exception(error_of(ended, ended.outcome.error()));
        }
        return ended.outcome.take();
    }

private:
    struct frame_owner {
        std::coroutine_handle<promise> child;
        ~frame_owner() { child.destroy(); }
    };
    union {
        task<T>* given_;                        // until it suspends
        std::coroutine_handle<promise> child_;  // from then on
    };
};

}  // namespace weir::detail
