// SPDX-License-Identifier: MIT
// Waiting for several fibers at once: the basis of gather and race.
#pragma once

#include <weir/base/child_call.hpp>
#include <weir/detail/held_stop.hpp>
#include <weir/detail/join.hpp>
#include <weir/handle.hpp>
#include <weir/loop.hpp>
#include <weir/outcome.hpp>
#include <weir/spawn.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace weir::detail {

// When the wait is over.
enum class goal : unsigned char {
    values,       // all have a value, or one has failed
    outcomes,     // all have ended, however
    first_value,  // one has a value, or all have failed
};

// A local object of a coroutine that starts or names the fibers and then awaits it, once, with
// nothing in between that could suspend. A stop that arrives meanwhile is passed on to the fibers,
// and resumes when they have ended; an error beats it.
class combined : public boundary, public boundary_awaitable {
public:
    combined(const combined&) = delete;
    combined& operator=(const combined&) = delete;

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> caller) noexcept {
        parent = &caller.promise();
        this_thread.running->top = this;  // its turn comes at once
        this_thread.next = turn().word();
    }
    void await_resume() const {
        if (failure_ != nullptr) {
            std::rethrow_exception(failure_);
        }
    }

    next_step advance(fiber& on) noexcept;
    next_step stopped(fiber& on, walk& stop) noexcept;

protected:
    explicit combined(const boundary_table& table) noexcept : boundary(table) {}
    ~combined() = default;

    virtual bool is_complete() const noexcept = 0;
    virtual void cancel_rest(std::string_view reason) noexcept = 0;
    bool is_stopping() const noexcept { return held_.is_held(); }
    // The await throws what this fiber has ended with.
    void fail(fiber& ended) noexcept;
    // Resumes the waiting fiber if enough has happened.
    void look() noexcept;

    std::exception_ptr failure_;  // what is thrown at the end

private:
    fiber* waiter_ = nullptr;
    held_stop held_;
};

// Starts fibers of its own and outlives them: it is complete when all have ended, and stops the
// rest as soon as the goal is reached or missed.
class WEIR_MUST_AWAIT fan_out final : public combined, private child_observer {
public:
    static constexpr const char* boundary_name = "gather";

    explicit fan_out(goal aim);
    ~fan_out();
    const group_state& group() const noexcept { return *group_; }

    // An empty handle if there is no more need for it, or if it could not be started, which is then
    // what the await throws.
    template <class T>
    handle<T> start(task<T>&& work) noexcept {
        if (group_->is_aborting) {
            work.discard();
            return {};
        }
        try {
            return handle<T>(
                start_fiber(*group_, std::move(work), to_start_options({}, *group_->home)));
        } catch (...) {
            give_up(std::current_exception());
            return {};
        }
    }

    // goal::first_value: the first that had one; null if all failed.
    const fiber* winner() const noexcept { return winner_; }

private:
    bool is_complete() const noexcept override { return group_->child_count == 0; }
    void cancel_rest(std::string_view reason) noexcept override;
    void child_ended(fiber& ended) noexcept override;
    void give_up(std::exception_ptr error) noexcept;

    group_state* group_;
    const fiber* winner_ = nullptr;
    goal goal_;
};

// Waits for fibers that belong to others. Lets go as soon as the goal is reached or missed; the
// others run on, and what they fail with counts as seen. A stop cancels all of them, and resumes
// with the first that reports its cancellation (goal::values) or with the last one
// (goal::outcomes).
class WEIR_MUST_AWAIT fan_in final : public combined, private member_watch::owner {
public:
    static constexpr const char* boundary_name = "gather";

    fan_in(goal aim, std::size_t count);
    // Throws invalid_state for the running fiber itself, and for one of another loop.
    void add(fiber& watched);

private:
    bool is_complete() const noexcept override { return is_over_ || remaining_ == 0; }
    void cancel_rest(std::string_view reason) noexcept override;
    void member_ended(member_watch& ended) noexcept override;
    void note(fiber& ended) noexcept;

    std::unique_ptr<member_watch[]> watches_;
    std::size_t count_ = 0;
    std::size_t remaining_ = 0;
    goal goal_;
    bool is_over_ = false;
};

// ---- results ------------------------------------------------------------------------------------

// A result as it can be an element of a vector or a variant.
template <class T>
struct element {
    using type = value_or_unit<T>;
};
template <class T>
struct element<T&> {
    using type = std::reference_wrapper<T>;
};
template <class T>
using element_t = typename element<T>::type;

// The value of a finished fiber that has no other owner.
template <class T>
value_or_unit<T> take_value(fiber_box<T>& ended) {
    if constexpr (std::is_void_v<T>) {
        return {};
    } else if constexpr (std::is_reference_v<T>) {
        return *ended.value();
    } else {
        return std::move(ended.value());
    }
}
// Of one that others may look at.
template <class T>
value_or_unit<T> copy_value(fiber_box<T>& ended) {
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        return own_value(ended);
    }
}

// The ending of a fiber that has no value.
std::exception_ptr error_or_cancellation(fiber& ended);

template <bool Take, class T>
outcome<T> outcome_of(fiber_box<T>& ended) {
    if (ended.has(is_failed)) {
        ended.raise(is_retrieved);
        return outcome<T>::from_error(ended.error());
    }
    if (ended.has(is_cancelled)) {
        return outcome<T>::from_cancellation(std::string(stop_reason(ended)));
    }
    if constexpr (std::is_void_v<T>) {
        return outcome<T>::from_value();
    } else if constexpr (Take) {
        return outcome<T>::from_value(take_value(ended));
    } else {
        return outcome<T>::from_value(own_value(ended));
    }
}

template <class T>
struct is_handle : std::false_type {};
template <class T>
struct is_handle<handle<T>> : std::true_type {};

}  // namespace weir::detail
