// SPDX-License-Identifier: MIT
// A group without a body. Its tasks keep their own errors, as those of the root group do.
//
// The hard part is the destructor of a scope that was not closed. It cannot wait, and when it
// returns, the object that its tasks work for is gone. So it has the walks of their stops run now,
// nested in whatever runs, and what is left is given up: see given_up.cpp.

#include "base/source_place.hpp"
#include "core/combine/given_up.hpp"
#include "core/debug/fiber_names.hpp"
#include "core/debug/task_tree.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/task_scope.hpp>

namespace weir {

namespace detail {

namespace {

std::string describe_unclosed(const group_state& group, const std::source_location& made) {
    std::string names;
    for (fiber& each : group.children) {
        names += names.empty() ? "" : ", ";
        names += known_fiber_name(each);
    }
    return "the task_scope made at " + describe_place(made) + " was destroyed with " +
           std::to_string(group.child_count) + " unfinished task(s) (" + names +
           "), which are stopped without their clean-up; co_await its close() first, for example "
           "with weir::with(object, body)";
}

}  // namespace

}  // namespace detail

task_scope::~task_scope() {
    if (group_ == nullptr) {
        return;
    }
    if (group_->child_count != 0) {
        auto& on = static_cast<loop&>(*group_->home);
        on.tell({report_kind::unclosed_scope,
                 detail::describe_unclosed(*group_, made_),
                 nullptr,
                 {},
                 {}});
        drop_tasks();
    }
    group_->observer = nullptr;
    group_->is_closed = true;
    detail::release_group(group_);
}

void task_scope::form() {
    if (is_closed_) {
        throw invalid_state("task_scope::spawn: the scope was closed");
    }
    loop& here = loop::current();
    if (group_ == nullptr) {
        group_ = detail::make_group(here);
        group_->observer = this;
        register_at(here);
    } else if (group_->home != &here) {
        throw loop_error("task_scope::spawn: the scope belongs to another loop");
    }
}

void task_scope::check_waiter(const char* call) const {
    const detail::fiber* running = detail::this_thread.running;
    if (group_ != nullptr && running != nullptr && running->group == group_) {
        throw invalid_state(std::string("task_scope::") + call +
                            ": called in a task of the scope, which would wait for itself");
    }
}

// The scope may be gone when a waiter runs that the end of the last task has woken.
task<void> task_scope::wait_until_empty() {
    return group_ != nullptr ? wait_for(detail::group_owner(*group_), *this) : no_wait();
}

task<void> task_scope::wait_for(detail::group_owner group, task_scope& scope) {
    while (group->child_count != 0 && !group->is_closed) {
        scope.ended_.clear();
        co_await scope.ended_.wait();
    }
}

task<void> task_scope::no_wait() {
    co_return;
}

task<void> task_scope::join() {
    check_waiter("join");
    return wait_until_empty();
}

task<void> task_scope::close(std::string reason) {
    check_waiter("close");
    is_closed_ = true;
    if (group_ != nullptr) {
        cancel(reason);
    }
    return wait_until_empty();
}

void task_scope::cancel(std::string_view reason) {
    if (group_ != nullptr) {
        for (detail::fiber& each : group_->children) {
            detail::cancel_fiber(each, reason);
        }
    }
}

void task_scope::child_ended(detail::fiber&) noexcept {
    if (group_->child_count == 0) {
        ended_.set();
    }
}

// Its waiters are in the root group, and the object may be anywhere.
void task_scope::close_at_shutdown() noexcept {
    is_closed_ = true;
    if (group_->child_count != 0) {
        cancel("the loop shuts down");
        static_cast<loop&>(*group_->home).spawn(wait_until_empty());
    }
}

void task_scope::leave_at_shutdown(bool closes) noexcept {
    unregister();
    if (!closes) {
        is_closed_ = true;
        give_up_tasks();
    }
}

void task_scope::drop_tasks() noexcept {
    group_->is_aborting = true;  // accepts no more
    cancel();
    detail::stop_tasks_now(*group_);
    give_up_tasks();
}

void task_scope::give_up_tasks() noexcept {
    detail::give_up_tasks(*group_);
}

}  // namespace weir
