// SPDX-License-Identifier: MIT
// foreign(x): awaits awaitables of other libraries.
//
//     int value = co_await weir::foreign(other::read(file));
//
// They may resume on any thread: the task continues through its loop. Simulated time stands still
// meanwhile, since what they wait for happens in real time. They know nothing of stops, so a stop
// waits until they have completed, and their result is then dropped. If the library takes a
// std::stop_token, hand it one, and the stop is passed on:
//
//     auto read = [&](std::stop_token token) { return other::read(file, token); };
//     int value = co_await weir::foreign(read);
#pragma once

#include <weir/awaitable.hpp>
#include <weir/detail/promise.hpp>
#include <weir/loop.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

template <class T>
concept has_member_co_await = requires(T&& value) { static_cast<T&&>(value).operator co_await(); };
template <class T>
concept has_free_co_await = requires(T&& value) { operator co_await(static_cast<T&&>(value)); };

template <class T>
decltype(auto) get_awaiter(T&& value) {
    if constexpr (has_member_co_await<T>) {
        return static_cast<T&&>(value).operator co_await();
    } else if constexpr (has_free_co_await<T>) {
        return operator co_await(static_cast<T&&>(value));
    } else {
        return static_cast<T&&>(value);
    }
}
template <class T>
concept foreign_awaiter = requires(T& awaiter, std::coroutine_handle<> caller) {
    static_cast<bool>(awaiter.await_ready());
    awaiter.await_suspend(caller);
    awaiter.await_resume();
};
template <class T>
concept foreign_awaitable =
    !leaf_operation<T> && !bounded_awaitable<T> && !makes_operation<T> &&
    (has_member_co_await<T> || has_free_co_await<T> || foreign_awaiter<std::remove_reference_t<T>>);
template <class T>
using foreign_result = decltype(get_awaiter(std::declval<T>()).await_resume());

// Tells the loop that the awaitable has completed, on whichever thread that happens.
class foreign_base : public operation {
public:
    const char* name() const noexcept override { return "foreign"; }
    bool start() noexcept override;

protected:
    foreign_base() noexcept = default;
    foreign_base(foreign_base&&) noexcept = default;
    ~foreign_base() = default;

    // The coroutine that awaits the awaitable; started by start(), destroyed with the operation.
    class bridge {
    public:
        struct promise_type {
            foreign_base* owner = nullptr;
            bridge get_return_object() noexcept {
                return bridge(std::coroutine_handle<promise_type>::from_promise(*this));
            }
            std::suspend_always initial_suspend() const noexcept { return {}; }
            struct done {
                bool await_ready() const noexcept { return false; }
                void await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
                    self.promise().owner->completed();
                }
                void await_resume() const noexcept {}
            };
            done final_suspend() const noexcept { return {}; }
            void return_void() const noexcept {}
            void unhandled_exception() noexcept { owner->error_ = std::current_exception(); }
        };

        bridge() noexcept = default;
        bridge(bridge&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
        bridge& operator=(bridge&& other) noexcept {
            std::swap(frame_, other.frame_);
            return *this;
        }
        ~bridge() {
            if (frame_) {
                frame_.destroy();
            }
        }
        void start(foreign_base& owner) const {
            frame_.promise().owner = &owner;
            frame_.resume();
        }

    private:
        explicit bridge(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
        std::coroutine_handle<promise_type> frame_;
    };

    virtual bridge make_bridge() = 0;
    std::exception_ptr error_;

private:
    void completed() noexcept;

    bridge bridge_;
    std::shared_ptr<inbox> mail_;
    loop_core* home_ = nullptr;
    bool is_starting_ = false;
    bool is_done_ = false;
};

template <class T>
struct foreign_value {
    using type = std::remove_cv_t<T>;
};
template <class T>
struct foreign_value<T&> {
    using type = T*;
};

// The awaitable is kept: by value if it was an rvalue.
template <class Awaitable, class Result>
class WEIR_MUST_AWAIT foreign_operation : public foreign_base {
public:
    explicit foreign_operation(Awaitable&& awaited) : awaited_(std::forward<Awaitable>(awaited)) {}
    foreign_operation(foreign_operation&&) = default;

    bool cancel() noexcept override { return false; }
    Result resume() {
        if (this->error_ != nullptr) {
            std::rethrow_exception(this->error_);
        }
        if constexpr (std::is_reference_v<Result>) {
            return static_cast<Result>(**value_);
        } else if constexpr (!std::is_void_v<Result>) {
            return std::move(*value_);
        }
    }

private:
    using typename foreign_base::bridge;
    bridge make_bridge() override { return run(*this); }
    static bridge run(foreign_operation& self) {
        if constexpr (std::is_void_v<Result>) {
            co_await static_cast<Awaitable&&>(self.awaited_);
        } else if constexpr (std::is_reference_v<Result>) {
            auto&& got = co_await static_cast<Awaitable&&>(self.awaited_);
            self.value_.emplace(std::addressof(got));
        } else {
            self.value_.emplace(co_await static_cast<Awaitable&&>(self.awaited_));
        }
    }

    using stored_value =
        typename foreign_value<std::conditional_t<std::is_void_v<Result>, char, Result>>::type;
    Awaitable awaited_;
    std::optional<stored_value> value_;
};

// The same for a function that is given a token and makes the awaitable.
template <class Function, class Awaitable, class Result>
class WEIR_MUST_AWAIT stoppable_foreign_operation : public foreign_base {
public:
    explicit stoppable_foreign_operation(Function&& make) : make_(std::forward<Function>(make)) {}
    stoppable_foreign_operation(stoppable_foreign_operation&&) = default;

    bool cancel() noexcept override {
        source_.request_stop();
        return false;
    }
    Result resume() {
        if (this->error_ != nullptr) {
            std::rethrow_exception(this->error_);
        }
        if constexpr (std::is_reference_v<Result>) {
            return static_cast<Result>(**value_);
        } else if constexpr (!std::is_void_v<Result>) {
            return std::move(*value_);
        }
    }

private:
    using typename foreign_base::bridge;
    bridge make_bridge() override { return run(*this); }
    static bridge run(stoppable_foreign_operation& self) {
        decltype(auto) awaited = self.make_(self.source_.get_token());
        if constexpr (std::is_void_v<Result>) {
            co_await static_cast<Awaitable&&>(awaited);
        } else if constexpr (std::is_reference_v<Result>) {
            auto&& got = co_await static_cast<Awaitable&&>(awaited);
            self.value_.emplace(std::addressof(got));
        } else {
            self.value_.emplace(co_await static_cast<Awaitable&&>(awaited));
        }
    }

    using stored_value =
        typename foreign_value<std::conditional_t<std::is_void_v<Result>, char, Result>>::type;
    Function make_;
    std::stop_source source_;
    std::optional<stored_value> value_;
};

}  // namespace detail

template <class Awaitable>
    requires detail::foreign_awaitable<Awaitable>
auto foreign(Awaitable&& awaitable) {
    return detail::foreign_operation<Awaitable, detail::foreign_result<Awaitable>>(
        std::forward<Awaitable>(awaitable));
}

template <class Function>
    requires(!detail::foreign_awaitable<Function>) && requires(Function& make) {
        { make(std::stop_token()) } -> detail::foreign_awaitable;
    }
auto foreign(Function&& make) {
    using awaitable = decltype(make(std::stop_token()));
    return detail::stoppable_foreign_operation<Function, awaitable,
                                               detail::foreign_result<awaitable>>(
        std::forward<Function>(make));
}

}  // namespace weir
