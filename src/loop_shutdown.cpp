// SPDX-License-Identifier: MIT
// The end of a loop: tasks are cancelled and awaited, then generators closed, then the loop. At the
// deadline shields break; what still does not end is named and leaked, since destroying a live
// operation would be worse.

#include <weir/detail/fiber_extras.hpp>
#include <weir/detail/group_support.hpp>
#include <weir/detail/loop_state.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>

namespace weir {

namespace {

// Wakes the loop at a time, for a wait that has a limit.
struct alarm final : detail::timer {
    bool has_rung = false;
    void fire() noexcept override { has_rung = true; }
};

}  // namespace

namespace detail {

void closable::register_at(loop_core& loop_of) noexcept {
    home = &loop_of;
    closable*& first = static_cast<loop&>(loop_of).state().closables;
    previous = nullptr;
    next = first;
    if (first != nullptr) {
        first->previous = this;
    }
    first = this;
}

void closable::unregister() noexcept {
    if (home == nullptr) {
        return;
    }
    (previous != nullptr ? previous->next : static_cast<loop*>(home)->state().closables) = next;
    if (next != nullptr) {
        next->previous = previous;
    }
    home = nullptr;
}

}  // namespace detail

void loop::run_until_empty(const bool& give_up) {
    while (root_->child_count > 0 && !give_up) {
        work();
        if (root_->child_count > 0 && !give_up) {
            wait();
        }
    }
}

void loop::cancel_and_await_all() {
    const auto deadline = detail::after(now(), state_->shutdown_deadline);
    alarm limit;
    arm(limit, deadline);
    detail::cancel_children(*root_);
    try {
        run_until_empty(limit.has_rung);
        if (root_->child_count > 0) {
            shields_broken_ = true;
            limit.has_rung = false;
            arm(limit, detail::after(now(), state_->shutdown_deadline));
            detail::cancel_children(*root_);
            for (const any_handle& each : all_tasks()) {
                detail::release_held_stop(each.checked());
            }
            run_until_empty(limit.has_rung);
        }
    } catch (const deadlock&) {
        // Only reachable without an alarm: the tasks wait for nothing. They are named below.
    }
    disarm(limit);
    if (root_->child_count > 0) {
        throw shutdown_timeout(std::to_string(root_->child_count) +
                               " task(s) did not end within the shutdown deadline\n" + dump_tasks());
    }
}

void loop::shutdown() {
    if (state_->is_closed) {
        return;
    }
    start();
    {
        detail::running_mark running(*this);
        cancel_and_await_all();
        while (state_->closables != nullptr) {
            detail::closable& each = *state_->closables;
            each.unregister();
            each.close_at_shutdown();
        }
        cancel_and_await_all();
        while (ready_head_ != nullptr) {
            work();  // the last done-callbacks
        }
    }
    release_everything();
}

void loop::close() {
    if (state_->is_closed) {
        return;
    }
    if (state_->is_running) {
        throw loop_error("close: the loop is running");
    }
    for (detail::fiber* each = root_->first_child; debug_ && each != nullptr; each = each->next_sibling) {
        tell({report_kind::pending_destroyed,
              "a task had not ended when its loop was closed: " + detail::fiber_name(*each), nullptr,
              any_handle(*each), detail::creation_site(*each)});
    }
    if (root_->child_count > 0 || state_->closables != nullptr) {
        shutdown();
    } else {
        release_everything();
    }
}

void loop::release_everything() noexcept {
    state_->is_closed = true;
    state_->is_accepting.store(false);
    while (ready_head_ != nullptr) {  // callbacks are dropped; fibers that never ended are leaked
        detail::ready_item& item = pop();
        if ((item.flags & detail::is_callback) != 0 && &item != &state_->stop_marker) {
            auto& call = static_cast<detail::scheduled_call&>(item);
            call.drop_callback();
            call.release();
        }
    }
    while (detail::timer* armed = state_->timers.pop_due(INT64_MAX)) {
        if (auto* call = dynamic_cast<detail::scheduled_call*>(armed)) {
            call->drop_callback();
            call->release();
        }
    }
    for (detail::posted_call* each = state_->posted.exchange(nullptr); each != nullptr;) {
        detail::posted_call* next = each->next;
        each->self.reset();
        each = next;
    }
    root_->is_closed = true;
    detail::release_group(root_);
}

}  // namespace weir
