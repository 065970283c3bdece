// SPDX-License-Identifier: MIT
// with_group: tasks that live no longer than a block.
#pragma once

#include <weir/base/to_task.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/detail/held_stop.hpp>
#include <weir/error.hpp>
#include <weir/spawn.hpp>

namespace weir {

// The group, as its body sees it. Cheap to copy; after the end of the group it refuses new tasks.
class task_group {
public:
    static task_group make(detail::loop_core& home) { return task_group(detail::make_group(home)); }
    task_group(const task_group& other) noexcept : state_(other.state_) {
        detail::retain_group(state_);
    }
    task_group& operator=(const task_group&) = delete;
    ~task_group() { detail::release_group(state_); }

    // Starts a task in the group. Throws invalid_state when the group is shutting down or has
    // ended; the task is then destroyed unstarted.
    template <class T>
    handle<T> spawn(task<T>&& work,
                    std::source_location where = std::source_location::current()) const {
        if (detail::is_plain_start(*state_)) [[likely]] {
            return handle<T>(detail::start_plain_fiber(*state_, std::move(work)));
        }
        return spawn(std::move(work), spawn_options(), where);
    }
    template <class T>
    handle<T> spawn(task<T>&& work, const spawn_options& options,
                    std::source_location where = std::source_location::current()) const {
        detail::start_options starting = options_for(options);
        starting.created = where;
        return handle<T>(detail::start_fiber(*state_, std::move(work), starting));
    }
    WEIR_SPAWN_CALLS(const)
    template <class Given, class... Args>
        requires detail::not_spawnable<Given, Args...>
    detail::refused_call spawn(Given&&, Args&&...) const {
        detail::explain_spawn<detail::kind_of_unspawnable<Given, Args...>()>();
        return {};
    }

    // Ends the group early: stops the children and the body. Errors of children still count.
    void cancel() const;
    std::size_t size() const noexcept { return state_->child_count; }  // unfinished children
    bool ended() const noexcept { return state_->is_closed; }
    detail::group_state& state() const noexcept { return *state_; }  // for the library

private:
    explicit task_group(detail::group_state* owned) noexcept : state_(owned) {}
    detail::start_options options_for(const spawn_options& options) const noexcept {
        return state_->is_closed ? detail::start_options{}
                                 : detail::to_start_options(options, *state_->home);
    }
    detail::group_state* state_;
};

namespace detail {

// The boundary around a group's body: runs it, then waits for the children, then continues with the
// ending.
class group_boundary : public scope {
public:
    static constexpr const char* boundary_name = "group";

    explicit group_boundary(group_state& group) noexcept
        : scope(table_of<group_boundary>), group_(&group) {}
    group_state& group() const noexcept { return *group_; }

    next_step advance(fiber& on) noexcept;
    next_step stopped(fiber& on, walk& stop) noexcept;
    // Its error is in the group's list.
    void child_failed(const fiber& ended) noexcept { held_.note_error(ended); }

protected:
    void begin(fiber& on) noexcept;
    // The body ended without a stop: with this error, or null.
    virtual std::exception_ptr body_error() noexcept = 0;

    bool body_is_gone_ = false;  // a walk destroyed it
    bool ended_early_ = false;   // task_group::cancel() stopped it, and nothing else happened
    std::exception_ptr thrown_;  // what the group ends with, if it ends with an error

private:
    next_step wait_for_children(fiber& on) noexcept;
    next_step end(fiber& on) noexcept;

    group_state* group_;
    std::exception_ptr add_body_error_;  // the last of the group's errors
    held_stop held_;
    bool body_has_ended_ = false;
    bool holds_thrown_stop_ = false;  // catchable's exception: continues, if there are no errors
    bool has_waited_ = false;         // for the children
};

template <class T>
class WEIR_MUST_AWAIT group_call final : public bounded<group_call<T>, group_boundary> {
public:
    group_call(group_state& group, task<T>&& body)
        : bounded<group_call, group_boundary>(group), body_(std::move(body)) {}
    ~group_call() {
        if (this->body_is_gone_) {
            body_.lost();
        }
    }

    void enter(fiber& on) noexcept {
        this->begin(on);
        body_.enter(*this, on);
    }
    T await_resume() {
        if (this->thrown_ != nullptr) {
            std::rethrow_exception(this->thrown_);
        }
        if (this->ended_early_) {
            if constexpr (std::is_void_v<T>) {
                return;
            } else {
                throw cancelled("the group was cancelled before its body had returned a value");
            }
        }
        return body_.take();
    }

private:
    std::exception_ptr body_error() noexcept override { return body_.error(); }

    child_call<T> body_;
};

// Keeps the body's closure and the group alive while it runs.
template <class Body>
auto run_group(Body body) -> std::invoke_result_t<Body&, task_group&> {
    using value = typename std::invoke_result_t<Body&, task_group&>::value_type;
    task_group group = task_group::make(loop::current());
    co_return co_await group_call<value>(group.state(), call_with<Body&, task_group&>(body, group));
}

}  // namespace detail

// co_await with_group([&](task_group& group) -> task<T> { group.spawn(...); ... }): gives the
// body's value when the body and all children have ended. If one fails, the others are stopped and
// awaited, and all errors are thrown as one error_group. If this task is stopped, so are they.
// Declare objects that children refer to before the group, not in its body: the body's locals end
// first.
template <class Body>
    requires detail::starts_task<std::remove_reference_t<Body>&, task_group&>
auto with_group(Body&& body) {
    WEIR_CHECK_CALLABLE(Body);
    return detail::run_group<detail::held_t<Body>>(std::forward<Body>(body));
}

}  // namespace weir
