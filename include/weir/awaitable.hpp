// SPDX-License-Identifier: MIT
// The leaf protocol, which every operation that a fiber can wait for implements.
//
// An operation is an object in the frame of the coroutine that awaits it. Write a class that
// derives from weir::operation and has
//
//     bool ready() noexcept;    // optional: complete now, without waiting? true: it has
//     bool start() noexcept;    // begin to wait. true: complete() will come; false: done already
//     bool cancel() noexcept;   // stop waiting. true: it has let go; false: complete() will come
//     T    resume();            // the result, or a throw; called once, when the fiber continues
//
// and co_await it in any weir coroutine. The rules:
//
// 1. ready() and start() report failure by remembering it and saying 'done'; resume() throws it.
// 2. complete() is called on the loop's thread, at most once, and only after the operation has let
//    go of everything it lent out (buffers above all). From another thread: loop.post.
// 3. cancel() may be called again while it has answered false.
// 4. If a stop arrives after complete() but before the fiber runs, resume() is never called: the
//    destructor gives back what was granted. An operation whose late result must not be dropped
//    calls complete_and_keep() instead: the fiber continues with the result, and stops at its next
//    suspension.
// 5. Operations may be moved before they are awaited, and never after.
// 6. The destructor runs in a stop walk: it must not throw.
//
// examples/own_awaitable.cpp has a complete one in twenty lines.
#pragma once

#include <weir/detail/fiber.hpp>
#include <weir/detail/loop_core.hpp>
#include <weir/detail/must_await.hpp>
#include <weir/detail/thread_state.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

template <class T>
inline constexpr bool always_false = false;

// A base of everything that only our own promises know how to await. They never come here.
struct awaited_here {
    template <class Foreign = void>
    std::suspend_never operator co_await() const noexcept {
        static_assert(
            always_false<Foreign>,
            "Weir's tasks and operations can be awaited only in Weir's own coroutines "
            "(weir::task, weir::generator); elsewhere, start them with loop.submit or spawn");
        return {};
    }
};

}  // namespace detail

class operation : public detail::awaited_here {
public:
    operation() noexcept : waiter_(nullptr) {}
    // Only before it is awaited: combinators take operations by value.
    operation(operation&&) noexcept : operation() {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    virtual bool ready() noexcept { return false; }
    virtual bool start() noexcept = 0;
    virtual bool cancel() noexcept = 0;

    // The fiber whose end this waits for, if a stop is to be passed on to it.
    virtual detail::fiber* forwards_to() noexcept { return nullptr; }
    // The name that dump_tasks() shows.
    virtual const char* name() const noexcept { return "operation"; }

protected:
    // Of an operation whose awaiter makes it in order to wait.
    explicit operation(detail::set_later) noexcept {}
    ~operation() = default;

    // The fiber continues, through the loop's queue. Throws wrong_thread when this is not the
    // loop's thread.
    void complete() {
        detail::loop_core& home = waiter_->home();
        home.check_thread("waking a task");
        complete_on(home);
    }
    // The same, where the loop is known and the thread was checked.
    void complete_on(detail::loop_core& home) noexcept {
        waiter_->leaf = nullptr;
        home.push(*waiter_);
    }
    void complete_and_keep() {
        waiter_->raise(detail::keeps_result);
        complete();
    }
    bool is_waiting() const noexcept { return waiter_ != nullptr && waiter_->leaf == this; }
    detail::fiber& waiter() const noexcept { return *waiter_; }

private:
    friend class detail::loop_core;
    template <class>
    friend class leaf_awaiter;
    friend bool suspend_before_start(operation& leaf, detail::fiber& on) noexcept;

    detail::fiber* waiter_;
};

// Suspends without starting the operation: a stop is due, or the fiber has had its share.
bool suspend_before_start(operation& leaf, detail::fiber& on) noexcept;

// Drives one operation from a co_await expression. Calls go to the static type, so that the
// compiler sees through them; the virtual functions serve the loop.
template <class Operation>
class leaf_awaiter {
public:
    explicit leaf_awaiter(Operation& leaf) noexcept : leaf_(leaf) {}

    bool await_ready() noexcept {
        detail::thread_state& thread = detail::this_thread;
        if (thread.budget <= 0) [[unlikely]] {
            return false;
        }
        if (!leaf_.Operation::ready()) {
            return false;
        }
        --thread.budget;
        return true;
    }

    bool await_suspend(std::coroutine_handle<>) noexcept {
        detail::thread_state& thread = detail::this_thread;
        detail::fiber& on = *thread.running;
        leaf_.waiter_ = &on;
        if (thread.budget <= 0 || on.has(detail::stop_pending)) [[unlikely]] {
            return suspend_before_start(leaf_, on);
        }
        on.leaf = &leaf_;
        if (leaf_.Operation::start()) {
            return true;
        }
        on.leaf = nullptr;
        --thread.budget;
        return false;
    }

    decltype(auto) await_resume() { return leaf_.Operation::resume(); }

private:
    Operation& leaf_;
};

// The same, for operations that are made by the await itself (co_await handle).
template <class Operation>
class owning_leaf_awaiter {
public:
    template <class... Args>
    explicit owning_leaf_awaiter(Args&&... args) : leaf_(std::forward<Args>(args)...) {}

    bool await_ready() noexcept { return leaf_awaiter<Operation>(leaf_).await_ready(); }
    bool await_suspend(std::coroutine_handle<> self) noexcept {
        return leaf_awaiter<Operation>(leaf_).await_suspend(self);
    }
    decltype(auto) await_resume() { return leaf_.resume(); }

private:
    Operation leaf_;
};

}  // namespace weir
