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

namespace weir {
template <class T>
class task;
}

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

template <class T>
concept leaf_operation = std::derived_from<std::remove_cvref_t<T>, operation>;
template <class T>
concept bounded_awaitable = std::derived_from<std::remove_cvref_t<T>, boundary_awaitable>;
// handle, future and the like: each await makes an operation.
template <class T>
concept makes_operation = requires(T&& value) { static_cast<T&&>(value).make_operation(); };

[[noreturn]] void throw_consumed_task();
void discard_unawaited(promise_base& frame, std::coroutine_handle<> coroutine) noexcept;
[[noreturn]] void throw_injected_error(fiber& on);

constexpr unsigned nested_calls_limit = 32;

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
    auto await_transform(task<T>&& child,
                         std::source_location where = std::source_location::current()) {
        here = where;
        return task_awaiter<T>(child);
    }

    template <leaf_operation Operation>
    auto await_transform(Operation&& leaf,
                         std::source_location where = std::source_location::current()) noexcept {
        here = where;
        return leaf_awaiter<std::remove_reference_t<Operation>>(leaf);
    }

    template <bounded_awaitable Awaitable>
    auto await_transform(Awaitable&& bounded,
                         std::source_location where = std::source_location::current()) noexcept {
        here = where;
        return referring_awaiter<std::remove_reference_t<Awaitable>>(bounded);
    }

    template <makes_operation Source>
    auto await_transform(Source&& source,
                         std::source_location where = std::source_location::current()) {
        here = where;
        using made = decltype(static_cast<Source&&>(source).make_operation());
        return owning_leaf_awaiter<typename made::operation_type>(
            static_cast<Source&&>(source).make_operation());
    }

    template <class T>
    auto await_transform(task<T>&) {
        static_assert(always_false<T>,
                      "a task is consumed by awaiting it: write co_await std::move(task), or spawn "
                      "it and await the handle as often as you like");
        return std::suspend_never{};
    }

    template <class Other>
        requires(!leaf_operation<Other> && !bounded_awaitable<Other> && !makes_operation<Other>)
    auto await_transform(Other&&) {
        static_assert(always_false<Other>,
                      "this type cannot be awaited in a weir coroutine; wrap awaitables of other "
                      "libraries: co_await weir::foreign(x)");
        return std::suspend_never{};
    }

    // Registers how to resume this coroutine; every promise calls it when it makes its return
    // object.
    template <class Promise>
    void know_coroutine(Promise& self, const std::source_location& beginning) noexcept {
        here = beginning;
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

// Puts a coroutine on top of the stack and has the trampoline start it.
inline void call(promise_base& child, frame& parent, fiber& on) noexcept {
    child.parent = &parent;
    on.top = &child;
    this_thread.next = child.coroutine();
}

template <class T>
struct task_promise : promise_base {
    WEIR_CHECK_ALIGNMENT(T);
    result<T> outcome;

    task<T> get_return_object(
        std::source_location where = std::source_location::current()) noexcept;
    template <class U = T>
        requires std::constructible_from<T, U&&>
    void return_value(U&& value) {
        outcome.set_value(std::forward<U>(value));
    }
    void unhandled_exception() noexcept { outcome.set_error(thrown_by_body()); }
};

template <class T>
struct task_promise<T&> : promise_base {
    result<T&> outcome;

    task<T&> get_return_object(
        std::source_location where = std::source_location::current()) noexcept;
    void return_value(T& value) noexcept { outcome.set_value(value); }
    void unhandled_exception() noexcept { outcome.set_error(thrown_by_body()); }
};

template <>
struct task_promise<void> : promise_base {
    result<void> outcome;

    task<void> get_return_object(
        std::source_location where = std::source_location::current()) noexcept;
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
        promise_base& callee = child_.promise();
        call(callee, caller.promise(), *thread.running);
        if (thread.call_depth == nested_calls_limit) [[unlikely]] {
            return true;
        }
        ++thread.call_depth;
        thread.next = nullptr;
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
        return owner.child.promise().outcome.take();
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
