// SPDX-License-Identifier: MIT
// What a promise and its futures share.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/frame_alignment.hpp>
#include <weir/detail/fiber_box.hpp>
#include <weir/detail/frame_pool.hpp>
#include <weir/handle.hpp>

#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

class future_wait;

// The parts that do not depend on the type of the value. Counted by promise and futures; lives on
// one loop and is touched by its thread alone.
class future_base {
public:
    enum class state : unsigned char { pending, value, error, cancelled };

    explicit future_base(loop_core& home) noexcept;
    future_base(const future_base&) = delete;
    future_base& operator=(const future_base&) = delete;

    void retain() noexcept { ++references_; }
    void release() noexcept {
        if (--references_ == 0) {
            destroy();
        }
    }

    bool is_done() const noexcept { return now_ != state::pending; }
    state now() const noexcept { return now_; }
    bool is_home() const noexcept { return group_->home == this_thread.loop; }

    // Throw invalid_state when it is done already.
    void check_unset(const char* what) const;
    void set_error(std::exception_ptr error);
    // The promise is destroyed: waiters get broken_promise.
    void abandon() noexcept;
    bool cancel(std::string_view reason);
    // Throws unless there is a value; `what` names the call.
    void check_value(const char* what);
    std::exception_ptr error();

    callback_id add_callback(unique_function<void(future_base&)> added, std::source_location where);
    std::size_t remove_callback(callback_id id) noexcept { return callbacks_.remove(id); }

protected:
    virtual ~future_base();
    void finish(state end) noexcept;  // wakes the waiters, in order, and schedules the callbacks

private:
    friend class future_wait;
    void destroy() noexcept;
    void schedule_callbacks() noexcept;

    group_state* group_;  // the loop's root group, which knows whether the loop is closed
    intrusive_list<future_wait> waiters_;
    done_callbacks<future_base> callbacks_;
    std::exception_ptr error_;
    std::string reason_;  // of the cancellation
    std::uint32_t references_ = 1;
    state now_ = state::pending;
    bool is_retrieved_ = false;  // the error was retrieved
};

template <class T>
class future_state final : public future_base {
    WEIR_CHECK_ALIGNMENT(T);
    using stored_type = typename stored<T>::type;

public:
    explicit future_state(loop_core& home) noexcept : future_base(home) {}

    static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
    static void operator delete(void* memory, std::size_t size) noexcept {
        frame_pool::release(memory, size);
    }

    template <class... Args>
    void set_value(Args&&... args) {
        check_unset("set_value");
        if constexpr (std::is_reference_v<T>) {
            ::new (static_cast<void*>(&value_)) stored_type(&args...);
        } else if constexpr (std::is_void_v<T>) {
            ::new (static_cast<void*>(&value_)) stored_type();
        } else {
            ::new (static_cast<void*>(&value_)) stored_type(std::forward<Args>(args)...);
        }
        finish(state::value);
    }

    decltype(auto) shared() const noexcept {
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*value_);
        } else if constexpr (!std::is_void_v<T>) {
            return static_cast<const T&>(value_);
        }
    }
    T taken() {
        if constexpr (std::is_reference_v<T>) {
            return *value_;
        } else if constexpr (!std::is_void_v<T>) {
            return std::move(value_);
        }
    }

private:
    ~future_state() override {
        if (now() == state::value) {
            value_.~stored_type();
        }
    }
    union {
        stored_type value_;
    };
};

// Waits in the state's list. Cancelling the waiter leaves the future alone.
class future_wait : public operation, public list_link<> {
public:
    explicit future_wait(future_base& on) noexcept : on_(&on) { on.retain(); }
    ~future_wait() {
        leave();
        on_->release();
    }

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override {
        leave();
        return true;
    }
    const char* name() const noexcept override { return "future"; }

protected:
    // Throws unless there is a value.
    void check() const;
    future_base& on() const noexcept { return *on_; }

private:
    friend class future_base;
    void leave() noexcept {
        if (is_linked()) {
            unlink();
        }
    }

    future_base* on_;
    bool is_foreign_ = false;  // of another loop
};

template <class T>
class WEIR_MUST_AWAIT shared_future_wait final : public future_wait {
public:
    using future_wait::future_wait;
    decltype(auto) resume() {
        check();
        return static_cast<future_state<T>&>(on()).shared();
    }
};

template <class T>
class WEIR_MUST_AWAIT moving_future_wait final : public future_wait {
public:
    using future_wait::future_wait;
    T resume() {
        check();
        return static_cast<future_state<T>&>(on()).taken();
    }
};

template <class Wait>
struct future_recipe {
    using operation_type = Wait;
    future_base& on;
    operator future_base&() const noexcept { return on; }  // NOLINT: the argument of the wait
};

[[noreturn]] void throw_empty_future(const char* what);
loop_core& current_home();

}  // namespace weir::detail
