// SPDX-License-Identifier: MIT
// A fiber together with the storage of its result, and how one is started.
#pragma once

#include <weir/detail/fiber.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/task.hpp>

#include <string_view>

namespace weir::detail {

struct fiber_table : boundary_table {
    void (*destroy)(fiber&) noexcept;
    std::exception_ptr (*error)(const fiber&) noexcept;
};

bool is_cancellation(const std::exception_ptr& error) noexcept;
// Is it weir::cancelled, thrown because of a stop that was aimed at this scope and answered in it?
// One that a user made from nothing counts too.
bool is_stop_of(const scope& aimed_at, const std::exception_ptr& error) noexcept;
// A stop takes the place of this error. If that is weir::cancelled, thrown by catchable for a
// request of this fiber, the request is made again: it must not be lost.
void resume_thrown_stop(fiber& on, const std::exception_ptr& error) noexcept;
// Sets the flags of a fiber that ended with an error: `cancelled` means cancelled.
void note_error(fiber& ended, const std::exception_ptr& error) noexcept;

// Non-object results are stored as what can be stored.
template <class T>
struct stored {
    using type = T;
};
template <>
struct stored<void> {
    struct type {};
};
template <class T>
struct stored<T&> {
    using type = T*;
};

template <class T>
class fiber_box final : public fiber {
    using promise = task_promise<T>;
    using stored_type = typename stored<T>::type;

public:
    static constexpr const char* boundary_name = "fiber";

    explicit fiber_box(std::coroutine_handle<promise> root) noexcept
        : fiber(static_cast<const boundary_table&>(own_table)), root_(root) {
        root.promise().parent = this;
        top = &root.promise();
    }

    static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
    static void operator delete(void* memory, std::size_t size) noexcept {
        frame_pool::release(memory, size);
    }

    const stored_type& value() const noexcept { return value_; }
    stored_type& value() noexcept { return value_; }
    std::exception_ptr error() const noexcept { return has(is_failed) ? error_ : nullptr; }

    next_step advance(fiber&) noexcept {
        const std::coroutine_handle<promise> root = root_;
        if (!root.promise().outcome.has_value() || has(stop_pending)) [[unlikely]] {
            end_without_value();
        } else {
            keep_value(root.promise());
        }
        root.destroy();
        if (joiners == nullptr && extras == nullptr && (flags & has_ended_badly) == 0) [[likely]] {
            finish_unnoticed();
        } else {
            finish(*this);
        }
        return next_step::suspended();
    }

    next_step stopped(fiber&, walk& stop) noexcept {
        if (stop.error != nullptr) {
            end_with(std::move(stop.error));
        } else {
            raise(is_cancelled);
        }
        finish(*this);
        return next_step::suspended();
    }

private:
    static constexpr std::uint16_t has_ended_badly = is_cancelled | is_failed;

    // Apart, as it is rare: the other way then needs few registers, and saves none.
    [[gnu::noinline, gnu::cold]] void end_without_value() noexcept {
        promise& root = root_.promise();
        if (root.outcome.has_value()) {
            raise(is_cancelled);  // stop beats value
            return;
        }
        std::exception_ptr error = error_of(root, root.outcome.error());
        if (has(stop_pending) && is_cancellation(error)) {
            raise(is_cancelled);
        } else {
            end_with(std::move(error));
        }
    }
    // In place of the handle of the coroutine, which is destroyed next.
    void keep_value(promise& ended) noexcept {
        if constexpr (std::is_void_v<T>) {
            ::new (static_cast<void*>(&value_)) stored_type{};
        } else if constexpr (std::is_reference_v<T>) {
            ::new (static_cast<void*>(&value_)) stored_type(&ended.outcome.value());
        } else if constexpr (std::is_nothrow_move_constructible_v<T>) {
            ::new (static_cast<void*>(&value_)) stored_type(std::move(ended.outcome.value()));
        } else {
            try {
                ::new (static_cast<void*>(&value_)) stored_type(std::move(ended.outcome.value()));
            } catch (...) {
                end_with(std::current_exception());
            }
        }
    }

    // What finish() does for most fibers: only the group is told. It has a value, and nothing else
    // that the destructor would look for.
    void finish_unnoticed() noexcept {
        group_state* const of = group;
        raise(is_done);
        top = nullptr;
        child_ended_well(*of, *this);
        if (--references == 0) {
            value_.~stored_type();
            operator delete(this, sizeof(*this));
            release_group(of);
        }
    }

    ~fiber_box() {
        if (has(is_failed)) {
            error_.~exception_ptr();
        } else if (has(is_done) && !has(is_cancelled)) {
            value_.~stored_type();
        }
    }
    void end_with(std::exception_ptr error) noexcept {
        note_error(*this, error);
        if (has(is_failed)) {
            ::new (static_cast<void*>(&error_)) std::exception_ptr(std::move(error));
        }
    }

    static constexpr fiber_table own_table{
        table_of<fiber_box>,
        [](fiber& self) noexcept { delete static_cast<fiber_box*>(&self); },
        [](const fiber& self) noexcept { return static_cast<const fiber_box&>(self).error(); },
    };

    union {
        std::coroutine_handle<promise> root_;  // until the end
        stored_type value_;
        std::exception_ptr error_;
    };
};

struct start_options {
    std::string_view name{};
    bool eager = false;
    context_values* context = nullptr;  // null: a snapshot of the spawner's
    std::source_location created{};     // where the user called; empty: to be found out
};

// Throws if the group accepts no more children, or this is the wrong thread.
void check_spawn(const group_state& into);
// Does what the options ask for, beyond queueing the fiber.
void launch_with_options(fiber& fresh, const start_options& options);

// Nothing but queueing is to be done for a child of this group that has no options: the way of most
// fibers.
inline bool is_plain_start(const group_state& into) noexcept {
    const fiber* spawner = this_thread.running;
    return into.home == this_thread.plain_loop && !into.is_closed && !into.is_aborting &&
           !into.home->eager() && spawner != nullptr && spawner->extras == nullptr;
}

template <class T>
fiber_box<T>& start_plain_fiber(group_state& into, task<T>&& work) {
    using promise = task_promise<T>;
    auto* fresh =
        new fiber_box<T>(std::coroutine_handle<promise>::from_address(work.release_frame()));
    adopt_child(into, *fresh);
    fresh->references = 2;  // the loop's, and the caller's, which makes a handle of it
    into.home->push(*fresh);
    return *fresh;
}

template <class T>
fiber_box<T>& start_fiber(group_state& into, task<T>&& work, const start_options& options = {}) {
    if (options.name.empty() && !options.eager && options.context == nullptr &&
        is_plain_start(into)) [[likely]] {
        return start_plain_fiber(into, std::move(work));
    }
    if (into.is_closed || into.is_aborting || into.home->runs_elsewhere()) [[unlikely]] {
        try {
            check_spawn(into);
        } catch (...) {
            work.discard();
            throw;
        }
    }
    using promise = task_promise<T>;
    auto* fresh =
        new fiber_box<T>(std::coroutine_handle<promise>::from_address(work.release_frame()));
    adopt_child(into, *fresh);
    fresh->references = 2;
    launch_with_options(*fresh, options);
    return *fresh;
}

}  // namespace weir::detail
