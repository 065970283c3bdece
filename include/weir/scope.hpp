// SPDX-License-Identifier: MIT
// cancel_scope: a part of a task that can be stopped alone, at a time or on request.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/detail/timed_scope.hpp>
#include <weir/loop.hpp>
#include <weir/outcome.hpp>

#include <optional>
#include <string_view>

namespace weir {

namespace detail {
template <class T>
class cancel_scope_call;
}

// Declared first, then run once:
//
//     weir::cancel_scope scope(5s);                        // or without a deadline
//     auto result = co_await scope.run(work(scope));       // optional<T>; bool for task<void>
//
// An empty result (false) means that the scope stopped the work. cancel() and reschedule() may come
// from the work itself or from any other task of the loop.
class cancel_scope {
public:
    cancel_scope() noexcept = default;
    template <class Rep, class Period>
    explicit cancel_scope(std::chrono::duration<Rep, Period> limit)
        : deadline_(detail::after(now(), detail::to_nanoseconds(limit))) {}
    explicit cancel_scope(clock::time_point deadline) noexcept : deadline_(deadline) {}
    cancel_scope(const cancel_scope&) = delete;
    cancel_scope& operator=(const cancel_scope&) = delete;

    // Throws invalid_state when the scope has run, or runs, already.
    template <detail::task_like Work>
    auto run(Work&& work);
    template <class Work>
        requires(!detail::task_like<Work>)
    detail::refused_call run(Work&&) {
        detail::explain_work<Work>();
        return {};
    }

    // Stops the work. Before run: it will stop at its first suspension. After: nothing.
    void cancel(std::string_view reason = {});
    bool cancel_called() const noexcept { return cancel_called_; }
    // Was the work stopped by this scope?
    bool caught() const noexcept { return caught_; }

    // No deadline: empty.
    std::optional<clock::time_point> deadline() const noexcept;
    // Has the deadline taken effect? Work that ends without a suspension after it is in time.
    bool expired() const noexcept { return active_ != nullptr ? active_->expired() : expired_; }
    // A new deadline: earlier, later, in the past (stops at once), or none. Throws invalid_state
    // unless the work is running and has not been stopped.
    void reschedule(std::optional<clock::time_point> deadline);
    template <class Rep, class Period>
    void reschedule_after(std::chrono::duration<Rep, Period> limit) {
        reschedule(detail::after(now(), detail::to_nanoseconds(limit)));
    }
    // The same for idle timeouts, where the deadline and the data may come together: false if it is
    // too late, because the work is being stopped or has ended. Throws only before run.
    [[nodiscard]] bool try_reschedule(std::optional<clock::time_point> deadline);
    template <class Rep, class Period>
    [[nodiscard]] bool try_reschedule_after(std::chrono::duration<Rep, Period> limit) {
        return try_reschedule(detail::after(now(), detail::to_nanoseconds(limit)));
    }

private:
    template <class T>
    friend class detail::cancel_scope_call;
    void claim();  // throws if it was used before

    clock::time_point deadline_ = clock::time_point::max();
    detail::timed_scope* active_ = nullptr;
    bool used_ = false;
    bool cancel_called_ = false;
    bool caught_ = false;
    bool expired_ = false;
    detail::request_reason reason_;
};

namespace detail {

template <class T>
class WEIR_MUST_AWAIT cancel_scope_call final : public scoped_call<cancel_scope_call<T>, T> {
    using base = scoped_call<cancel_scope_call, T>;

public:
    cancel_scope_call(cancel_scope& user, task<T>&& work)
        : base(std::move(work), user.deadline_, timed_scope::expiry::at_suspension), user_(user) {
        user.claim();
        this->reason_ = &user.reason_;
    }
    cancel_scope_call(cancel_scope_call&&) noexcept = default;
    ~cancel_scope_call() { detach(); }

    void enter(fiber& on) noexcept {
        user_.active_ = this;
        base::enter(on);
        if (user_.cancel_called_) {
            request_stop(*this);
        }
    }

    auto await_resume() {
        user_.caught_ = this->ended_by_own_stop();
        detach();
        if constexpr (std::is_void_v<T>) {
            if (!user_.caught_) {
                this->take();
            }
            return !user_.caught_;
        } else {
            return user_.caught_ ? std::optional<T>() : std::optional<T>(this->take());
        }
    }

private:
    void detach() noexcept {
        if (user_.active_ == this) {
            user_.active_ = nullptr;
            user_.expired_ = this->expired();
            user_.deadline_ = this->deadline();
        }
    }
    cancel_scope& user_;
};

// with_scope: the scope lives in the frame.
template <class Body>
auto scoped(clock::time_point deadline, Body body)
    -> task<decltype(std::declval<cancel_scope_call<
                         typename std::invoke_result_t<Body&, cancel_scope&>::value_type>&>()
                         .await_resume())> {
    cancel_scope own(deadline);
    co_return co_await own.run(std::invoke(body, own));
}

}  // namespace detail

template <detail::task_like Work>
auto cancel_scope::run(Work&& work) {
    WEIR_CHECK_CALLABLE(Work);
    return detail::cancel_scope_call<detail::task_value_t<Work>>(
        *this, detail::to_task(std::forward<Work>(work)));
}

// co_await with_scope([&](cancel_scope& scope) -> task<T> { ... }): as above, in one expression.
template <class Body>
auto with_scope(Body&& body) {
    WEIR_CHECK_CALLABLE(Body);
    return detail::scoped<detail::held_t<Body>>(clock::time_point::max(), std::forward<Body>(body));
}
template <class Rep, class Period, class Body>
auto with_scope(std::chrono::duration<Rep, Period> limit, Body&& body) {
    WEIR_CHECK_CALLABLE(Body);
    return detail::scoped<detail::held_t<Body>>(detail::after(now(), detail::to_nanoseconds(limit)),
                                                std::forward<Body>(body));
}

}  // namespace weir
