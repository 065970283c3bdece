// SPDX-License-Identifier: MIT
// promise<T> and future<T>: a value that is set later. Where something that calls back meets
// tasks that await.
//
//     weir::promise<int> promise;
//     library.on_answer([&](int answer) { promise.set_value(answer); });
//     int answer = co_await promise.get_future();
//
// Both belong to the loop they were made on, and are used on its thread; from others, loop.post.
#pragma once

#include <weir/detail/future_state.hpp>
#include <weir/error.hpp>

namespace weir {

// Copies share one outcome: a value, an error, or a cancellation; it is set once and stays.
template <class T = void>
class future : public detail::awaited_here {
public:
    using value_type = T;

    future() noexcept = default;
    future(const future& other) noexcept : state_(other.state_) {
        if (state_ != nullptr) {
            state_->retain();
        }
    }
    future(future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    future& operator=(future other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~future() {
        if (state_ != nullptr) {
            state_->release();
        }
    }

    bool valid() const noexcept { return state_ != nullptr; }
    bool done() const { return checked("done()").is_done(); }
    bool cancelled() const {
        return checked("cancelled()").now() == detail::future_base::state::cancelled;
    }

    // co_await f: a reference to the value, any number of times, without a turn of the loop if it
    // is set. Throws the error, or weir::cancelled. Waiting tasks resume in the order of arrival.
    // Cancelling a task that waits leaves the future as it is.
    auto make_operation() const& {
        return detail::future_recipe<detail::shared_future_wait<T>>{checked("co_await")};
    }
    // co_await std::move(f): the value, moved out. For the only consumer of the value.
    auto make_operation() && {
        return detail::future_recipe<detail::moving_future_wait<T>>{checked("co_await")};
    }

    // The value. Throws the error, weir::cancelled, or invalid_state if it is not done.
    decltype(auto) result() const {
        detail::future_state<T>& done = checked("result()");
        done.check_value("result()");
        return done.shared();
    }
    // The error; null if there is a value. Throws weir::cancelled, or invalid_state if it is not
    // done.
    std::exception_ptr error() const { return checked("error()").error(); }

    // Ends it as cancelled: awaiting it throws weir::cancelled. False if it was done already.
    bool cancel(std::string_view reason = {}) const { return checked("cancel()").cancel(reason); }

    // Called with the future, through the loop, when it is done, in the order of registration; at
    // its next turn if it is done already. One that throws is reported, the others still run.
    template <class Callback>
    callback_id add_done_callback(
        Callback callback, std::source_location where = std::source_location::current()) const {
        return checked("add_done_callback()")
            .add_callback(
                [callback = std::move(callback)](detail::future_base& ended) mutable {
                    callback(future(static_cast<detail::future_state<T>&>(ended)));
                },
                where);
    }
    // Removes every registration with this id; 0 when it is on its way or has run.
    std::size_t remove_done_callback(callback_id id) const {
        return checked("remove_done_callback()").remove_callback(id);
    }

    bool operator==(const future& other) const noexcept { return state_ == other.state_; }

private:
    template <class>
    friend class promise;
    explicit future(detail::future_state<T>& shared) noexcept : state_(&shared) { shared.retain(); }
    detail::future_state<T>& checked(const char* what) const {
        if (state_ == nullptr) [[unlikely]] {
            detail::throw_empty_future(what);
        }
        return *state_;
    }

    detail::future_state<T>* state_ = nullptr;
};

// Move-only. One that is destroyed unset gives broken_promise to its waiters.
template <class T = void>
class promise {
public:
    // Of the running loop, or the one given. Throws loop_error if there is none.
    promise() : promise(detail::current_home()) {}
    explicit promise(detail::loop_core& home) : state_(new detail::future_state<T>(home)) {}
    promise(promise&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    promise& operator=(promise&& other) noexcept {
        promise(std::move(other)).swap(*this);
        return *this;
    }
    ~promise() {
        if (state_ != nullptr) {
            state_->abandon();
            state_->release();
        }
    }
    void swap(promise& other) noexcept { std::swap(state_, other.state_); }

    // Any number of times.
    future<T> get_future() const { return future<T>(checked("get_future()")); }
    // Set, or cancelled by a future: look before setting what may have been cancelled.
    bool done() const { return checked("done()").is_done(); }

    // These throw invalid_state if it is done already.
    template <class... Args>
        requires(std::is_void_v<T>
                     ? sizeof...(Args) == 0
                     : std::constructible_from<typename detail::stored<T>::type, Args...> ||
                           std::is_reference_v<T>)
    void set_value(Args&&... args) {
        detail::future_state<T>* const kept = &checked("set_value()");
        kept->set_value(std::forward<Args>(args)...);
    }
    void set_error(std::exception_ptr error) { checked("set_error()").set_error(std::move(error)); }
    template <class Error>
        requires(!std::same_as<std::remove_cvref_t<Error>, std::exception_ptr>)
    void set_error(Error&& error) {
        set_error(std::make_exception_ptr(std::forward<Error>(error)));
    }

private:
    detail::future_state<T>& checked(const char* what) const {
        if (state_ == nullptr) [[unlikely]] {
            detail::throw_empty_future(what);
        }
        return *state_;
    }

    detail::future_state<T>* state_;
};

}  // namespace weir
