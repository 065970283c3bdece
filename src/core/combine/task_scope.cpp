// SPDX-License-Identifier: MIT
// A group without a body. Its tasks keep their own errors, as those of the root group do.
//
// The hard part is the destructor of a scope that was not closed. It cannot wait, and when it
// returns, the object that its tasks work for is gone. So it has the walks of their stops run now,
// nested in whatever runs: the fibers are taken out of the ready queue and stepped one by one,
// those of their groups included, as long as one of them gets further. What is left waits for
// something that has not happened; it is put to sleep for ever, under a boundary that never
// continues, with its frames and operations intact.

#include "base/source_place.hpp"
#include "core/debug/fiber_names.hpp"
#include "core/debug/task_tree.hpp"

#include <weir/awaitable.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/task_scope.hpp>

#include <mutex>
#include <vector>

namespace weir {

namespace detail {

namespace {

// On top of a fiber that was given up: whatever wakes it, it does not continue.
class endless_sleep final : public boundary {
public:
    static constexpr const char* boundary_name = "given up";

    endless_sleep() noexcept : boundary(table_of<endless_sleep>) {}
    next_step advance(fiber&) noexcept { return next_step::suspended(); }
    next_step stopped(fiber&, walk&) noexcept { return next_step::suspended(); }
};

bool is_on_machine_stack(fiber& each) noexcept {
    return !each.has(is_parked) && each.leaf == nullptr && !each.home().is_queued(each);
}

// Lets the fiber continue now, as a nested eager start does, if it is ready and stopping: a stop is
// to be delivered, or a boundary that has held one up has its turn.
bool stop_now(fiber& each) noexcept {
    loop_core& home = each.home();
    if (each.has(is_parked) || !(each.has(stop_pending) || each.top->is_boundary())) {
        return false;
    }
    const bool waits = each.leaf != nullptr && !each.has(restart_leaf);
    if (waits) {
        if (each.leaf->forwards_to() == nullptr) {
            return false;  // the operation has not let go
        }
        each.leaf = nullptr;  // waits for a task outside of the scope: it need not
        each.raise(is_interrupted);
    } else if (!home.unqueue(each)) {
        return false;  // it runs
    }
    thread_state& thread = this_thread;
    const thread_state outer = thread;
    thread.loop = &home;
    thread.call_depth = 0;
    ++thread.eager_depth;
    thread.error_is_injected = false;
    home.step(each);
    thread.loop = outer.loop;
    thread.running = outer.running;
    thread.next = outer.next;
    thread.budget = outer.budget;
    thread.call_depth = outer.call_depth;
    thread.eager_depth = outer.eager_depth;
    thread.error_is_injected = outer.error_is_injected;
    return true;
}

void give_up(fiber& each) noexcept {
    static std::mutex mutex;
    static auto& given_up = *new std::vector<any_handle>;  // where leak checkers see them
    static constinit endless_sleep* sleep = nullptr;
    {
        const std::lock_guard lock(mutex);
        given_up.emplace_back(each);
        if (sleep == nullptr) {
            sleep = new endless_sleep;
        }
    }
    each.home().unqueue(each);
    each.clear(is_stoppable);
    each.raise(is_cancelled);
    finish(each);
    each.top = sleep;
}

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
    bool goes_on = true;
    while (goes_on && group_->child_count != 0) {
        goes_on = false;
        for (const any_handle& each : detail::list_tasks(*group_)) {
            goes_on |= !each.done() && detail::stop_now(each.checked());
        }
    }
    give_up_tasks();
}

void task_scope::give_up_tasks() noexcept {
    for (const any_handle& each : detail::list_tasks(*group_)) {
        if (!each.done() && !detail::is_on_machine_stack(each.checked())) {
            detail::give_up(each.checked());
        }
    }
}

}  // namespace weir
