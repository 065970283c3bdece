// SPDX-License-Identifier: MIT
// The task that a boundary runs, and how it ended.
#pragma once

#include <weir/detail/fiber_box.hpp>
#include <weir/detail/must_await.hpp>

namespace weir::detail {

// Error beats stop; but a cancellation that was seen is none.
inline bool beats_stop(const std::exception_ptr& error) noexcept {
    return error != nullptr && !is_cancellation(error);
}

template <class T>
class child_call {
    using promise = task_promise<T>;

public:
    explicit child_call(task<T>&& child)
        : child_(std::coroutine_handle<promise>::from_address(child.release_frame())) {}
    child_call() noexcept = default;
    child_call(child_call&& other) noexcept : child_(std::exchange(other.child_, {})) {}
    child_call(const child_call&) = delete;
    child_call& operator=(const child_call&) = delete;
    ~child_call() { destroy(); }

    void assign(task<T>&& child) {
        destroy();
        child_ = std::coroutine_handle<promise>::from_address(child.release_frame());
    }

    // From await_suspend: the trampoline starts the child.
    void enter(boundary& parent, fiber& on) noexcept { call(child_.promise(), parent, on); }
    // From a boundary's turn.
    next_step start(boundary& parent, fiber& on) noexcept {
        child_.promise().parent = &parent;
        on.top = &child_.promise();
        return next_step::resume(child_.address());
    }

    // The walk has destroyed the child.
    void lost() noexcept { child_ = {}; }
    void fail(std::exception_ptr error) noexcept {
        destroy();
        error_ = std::move(error);
    }
    void destroy() noexcept {
        if (child_) {
            const discarding unreported;
            std::exchange(child_, {}).destroy();
        }
    }

    bool has_value() const noexcept { return child_ && child_.promise().outcome.has_value(); }
    // A value, or a cancellation: a stop takes precedence over these.
    bool yields_to_stop() const noexcept { return has_value() || is_cancellation(error()); }
    std::exception_ptr error() const noexcept {
        return child_ ? child_.promise().outcome.error() : error_;
    }
    bool exists() const noexcept { return static_cast<bool>(child_); }
    promise_base& promise_of_child() const noexcept { return child_.promise(); }

    // The value, moved out, or the error, thrown.
    T take() {
        if (!child_) [[unlikely]] {
            std::rethrow_exception(error_);
        }
        frame_owner owner{std::exchange(child_, {})};
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
    std::coroutine_handle<promise> child_;
    std::exception_ptr error_;
};

// The work that a user has given to a combinator. Destroyed without having been started, because
// the combinator was never awaited, it is reported in debug mode.
template <class T>
class given_work : public child_call<T> {
public:
    using child_call<T>::child_call;
    given_work(given_work&&) noexcept = default;
    ~given_work() {
        if (this->exists() && this->promise_of_child().parent == nullptr) [[unlikely]] {
            report_unawaited_work(this->promise_of_child());
        }
    }
    // The boundary has decided that it is not started.
    void skip(boundary& parent) noexcept { this->promise_of_child().parent = &parent; }
};

// Continues with the frame that awaits the boundary: control leaves the boundary for good.
inline next_step return_to_parent(boundary& from, fiber& on) noexcept {
    on.top = from.parent;
    return from.parent->turn();
}

// From await_suspend: the boundary has nothing to wait for, and its turn comes at once.
inline void skip_child(boundary& self, fiber& on) noexcept {
    on.top = &self;
    this_thread.next = self.turn().word();
}

// Lets a walk pass: the boundary has nothing to say to it.
inline next_step let_pass(boundary& from, fiber& on) noexcept {
    on.top = from.parent;
    return next_step::walk_on();
}

// Continues with the result of the work, unless a stop that was held off meanwhile beats it.
template <class T>
next_step give_way(boundary& from, fiber& on, child_call<T>& work) noexcept {
    if (on.has(stop_pending) && work.yields_to_stop()) {
        resume_thrown_stop(on, work.error());
        work.destroy();
        return let_pass(from, on);
    }
    return return_to_parent(from, on);
}

// An awaitable that is itself the boundary it puts on the stack. May be moved before it is awaited.
//
// Derived::enter notes what comes first, most often a child. As with awaiting a task, that is run
// on the machine stack up to a small depth: a child that completes without suspending costs no
// detour through the trampoline. If it suspends, Derived::child_suspended is called, if it exists.
// A boundary may have another one as its child; then it passes both on.
template <class Derived, class Boundary>
class bounded : public Boundary, public boundary_awaitable {
public:
    using Boundary::Boundary;

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> caller) noexcept {
        static_assert(
            std::derived_from<Promise, promise_base>,
            "this is awaited in a coroutine of the library: weir::task or weir::generator");
        thread_state& thread = this_thread;
        fiber& on = *thread.running;
        auto& self = static_cast<Derived&>(*this);
        this->parent = &caller.promise();
        self.enter(on);
        next_step next = next_step::from_word(thread.next);
        if (next.is_coroutine() && thread.call_depth < nested_calls_limit) {
            ++thread.call_depth;
            thread.next = nullptr;
            std::coroutine_handle<>::from_address(next.word()).resume();
            --thread.call_depth;
            next = next_step::from_word(thread.next);
        }
        while (next.is_boundary()) {
            boundary& top = static_cast<boundary&>(*on.top);
            next = top.table().advance(top, on);
        }
        if (next.word() == caller.address()) {
            thread.next = nullptr;
            return false;
        }
        thread.next = next.word();
        if constexpr (requires { self.child_suspended(); }) {
            self.child_suspended();
        }
        return true;
    }
};

}  // namespace weir::detail
