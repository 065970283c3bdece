// SPDX-License-Identifier: MIT
// handle<T>: a started task. Shared, cheap to copy; the task runs on when the last one goes.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/detail/done_callbacks.hpp>
#include <weir/detail/fiber_box.hpp>
#include <weir/detail/join.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir {

namespace detail {

[[noreturn]] void throw_cancelled(const fiber& ended);
[[noreturn]] void throw_not_done(const fiber& unfinished, const char* what);
[[noreturn]] void throw_empty_handle();
callback_id add_callback(fiber& to, unique_function<void(fiber&)> callback,
                         std::source_location where);
std::size_t remove_callback(fiber& from, callback_id id) noexcept;
std::string fiber_name(fiber& named);
std::string_view cancel_reason(const fiber& cancelled) noexcept;

// Throws what the fiber ended with, unless it was a value.
template <class T>
void check_ended_well(fiber_box<T>& ended) {
    if (ended.has(is_failed)) [[unlikely]] {
        ended.raise(is_retrieved);
        std::rethrow_exception(ended.error());
    }
    if (ended.has(is_cancelled)) [[unlikely]] {
        throw_cancelled(ended);
    }
}

template <class T>
decltype(auto) shared_value(fiber_box<T>& ended) {
    if constexpr (std::is_reference_v<T>) {
        return static_cast<T>(*ended.value());
    } else if constexpr (!std::is_void_v<T>) {
        return static_cast<const T&>(ended.value());
    }
}

// A value of one's own, though others may hold handles too: a copy, or the value itself where it
// cannot be copied.
template <class T>
T own_value(fiber_box<T>& ended) {
    if constexpr (std::is_reference_v<T>) {
        return static_cast<T>(*ended.value());
    } else if constexpr (std::is_copy_constructible_v<T>) {
        return std::as_const(ended).value();
    } else if constexpr (!std::is_void_v<T>) {
        return std::move(ended.value());
    }
}

// co_await handle: the value stays with the handle.
template <class T>
class WEIR_MUST_AWAIT shared_join final : public join_operation {
public:
    explicit shared_join(fiber& target, mode kind = mode::forward) noexcept
        : join_operation(target, kind) {}
    decltype(auto) resume() {
        check_await();
        auto& ended = static_cast<fiber_box<T>&>(target());
        check_ended_well(ended);
        return shared_value(ended);
    }
};

// co_await std::move(handle): the value is moved out.
template <class T>
class WEIR_MUST_AWAIT moving_join final : public join_operation {
public:
    explicit moving_join(fiber& target) noexcept : join_operation(target, mode::forward) {}
    T resume() {
        check_await();
        auto& ended = static_cast<fiber_box<T>&>(target());
        check_ended_well(ended);
        if constexpr (std::is_reference_v<T>) {
            return *ended.value();
        } else if constexpr (!std::is_void_v<T>) {
            return std::move(ended.value());
        }
    }
};

// handle.wait(): just until the end.
class WEIR_MUST_AWAIT silent_join final : public join_operation {
public:
    explicit silent_join(fiber& target) noexcept : join_operation(target, mode::leave) {}
    void resume() { check_await(); }
};

// Creates a join when it is awaited.
template <class Join>
struct join_recipe {
    using operation_type = Join;
    fiber& target;
    operator fiber&() const noexcept { return target; }  // NOLINT: the argument of the join
};

}  // namespace detail

// A task of any result type.
class any_handle : public detail::awaited_here {
public:
    any_handle() noexcept = default;
    explicit any_handle(detail::fiber& shared) noexcept : fiber_(&shared) { shared.retain(); }
    any_handle(const any_handle& other) noexcept : fiber_(other.fiber_) {
        if (fiber_ != nullptr) {
            fiber_->retain();
        }
    }
    any_handle(any_handle&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
    any_handle& operator=(any_handle other) noexcept {
        std::swap(fiber_, other.fiber_);
        return *this;
    }
    ~any_handle() {
        if (fiber_ != nullptr) {
            fiber_->release();
        }
    }

    bool valid() const noexcept { return fiber_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }
    bool operator==(const any_handle& other) const noexcept { return fiber_ == other.fiber_; }

    // Requests that the task stop. True unless it has ended. It stops at its suspension point, on a
    // later turn of the loop; tasks that await it see the reason.
    bool cancel(std::string_view reason = {}) const {
        return detail::cancel_fiber(checked(), reason);
    }
    bool done() const { return checked().has(detail::is_done); }
    bool cancelled() const { return checked().has(detail::is_cancelled); }
    bool failed() const { return checked().has(detail::is_failed); }
    // Requests made by cancel() and not taken back by uncancel().
    unsigned cancelling() const { return checked().cancel_count; }
    unsigned uncancel() const { return detail::uncancel_fiber(checked()); }

    // The reason given to cancel(): of the request that ended the task, or that it has not answered
    // yet. Empty if there was no such request, or none with a reason.
    std::string reason() const { return std::string(detail::cancel_reason(checked())); }

    // The error of a failed task; null after success. Throws cancelled, or invalid_state while it
    // runs.
    std::exception_ptr error() const {
        detail::fiber& ended = checked();
        if (!ended.has(detail::is_done)) {
            detail::throw_not_done(ended, "error()");
        }
        if (ended.has(detail::is_cancelled)) {
            detail::throw_cancelled(ended);
        }
        ended.raise(detail::is_retrieved);
        return static_cast<const detail::fiber_table&>(ended.table()).error(ended);
    }

    // Waits for the end: a value, an error or a stop. Cancelling the waiter leaves the task alone.
    detail::silent_join wait() const { return detail::silent_join(checked()); }

    std::string name() const { return detail::fiber_name(checked()); }
    void set_name(std::string_view name) const;

    // Removes every registration with this id; 0 when it is on its way or has run.
    std::size_t remove_done_callback(callback_id id) const {
        return detail::remove_callback(checked(), id);
    }

    // For the library.
    detail::fiber& checked() const {
        if (fiber_ == nullptr) [[unlikely]] {
            detail::throw_empty_handle();
        }
        return *fiber_;
    }

protected:
    struct adopt {};
    any_handle(detail::fiber& owned, adopt) noexcept : fiber_(&owned) {}

private:
    detail::fiber* fiber_ = nullptr;
};

template <class T = void>
class handle : public any_handle {
public:
    using value_type = T;

    handle() noexcept = default;
    // Takes over the reference that starting the fiber gave.
    explicit handle(detail::fiber_box<T>& owned) noexcept : any_handle(owned, adopt{}) {}
    // Another handle of the same task.
    static handle share(detail::fiber_box<T>& shared) noexcept {
        shared.retain();
        return handle(shared);
    }

    // co_await h: a reference to the value, any number of times. Throws the task's error, or
    // cancelled. Cancelling the waiter cancels the task and waits for its end.
    auto make_operation() const& { return detail::join_recipe<detail::shared_join<T>>{checked()}; }
    // co_await std::move(h): the value itself.
    auto make_operation() && { return detail::join_recipe<detail::moving_join<T>>{checked()}; }

    // The value of a finished task. Throws its error, cancelled, or invalid_state while it runs.
    decltype(auto) result() const {
        detail::fiber_box<T>& ended = box();
        if (!ended.has(detail::is_done)) {
            detail::throw_not_done(ended, "result()");
        }
        detail::check_ended_well(ended);
        return detail::shared_value(ended);
    }

    // Called through the loop when the task has ended, in the order of registration; at its next
    // turn if it has ended already. One that throws is reported, the others still run.
    template <class Callback>
        requires std::is_invocable_v<Callback&, handle>
    callback_id add_done_callback(
        Callback callback, std::source_location where = std::source_location::current()) const {
        auto call = [callback = std::move(callback)](detail::fiber& ended) mutable {
            callback(share(static_cast<detail::fiber_box<T>&>(ended)));
        };
        return detail::add_callback(checked(), std::move(call), where);
    }

    detail::fiber_box<T>& box() const { return static_cast<detail::fiber_box<T>&>(checked()); }
};

// The running task; empty inside plain callbacks and outside loops.
any_handle current_task() noexcept;

}  // namespace weir
