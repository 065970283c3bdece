// SPDX-License-Identifier: MIT
// The fibers are taken out of the ready queue and stepped one by one, those of their groups
// included, as long as one of them gets further. What is left waits for something that has not
// happened; it is put to sleep for ever, under a boundary that never continues, with its frames and
// operations intact.

#include "core/combine/given_up.hpp"

#include "core/debug/task_tree.hpp"

#include <weir/awaitable.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/loop.hpp>

#include <mutex>
#include <vector>

namespace weir::detail {

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

}  // namespace

void stop_tasks_now(const group_state& of) noexcept {
    bool goes_on = true;
    while (goes_on && of.child_count != 0) {
        goes_on = false;
        for (const any_handle& each : list_tasks(of)) {
            goes_on |= !each.done() && stop_now(each.checked());
        }
    }
}

void give_up_tasks(const group_state& of) noexcept {
    for (const any_handle& each : list_tasks(of)) {
        if (!each.done() && !is_on_machine_stack(each.checked())) {
            give_up(each.checked());
        }
    }
}

}  // namespace weir::detail
