// SPDX-License-Identifier: MIT
// A timed scope arms its timer when the code inside it suspends for the first time (code that never
// suspends needs no timer) and disarms it when the scope is left, in any way. Expiry is an ordinary
// stop request aimed at the scope; the walk's target shows whether a stop that reaches the scope is
// its own, so the scope has no counts to keep or to undo.

#include "core/runtime/fiber_extras.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/scope.hpp>
#include <weir/timeout.hpp>

#include <algorithm>

namespace weir {

namespace detail {

bool timed_scope::begin_in_time(fiber& on) noexcept {
    const clock::time_point when = deadline();
    if (when == clock::time_point::max() || when_ == expiry::at_next_turn ||
        when > static_cast<loop&>(on.home()).now()) {
        enter_scope(*this, on);
        return true;
    }
    expired_ = true;
    if (when_ == expiry::before_start) {
        caught_ = true;
        return false;
    }
    enter_scope(*this, on);
    request_stop(*this);
    return true;
}

void timed_scope::child_suspended() noexcept {
    if (on != nullptr && !is_armed() && !expired_ && deadline() != clock::time_point::max()) {
        static_cast<loop&>(on->home()).arm(*this, deadline());
    }
}

void timed_scope::disarm() noexcept {
    static_cast<loop&>(on->home()).disarm(*this);  // does nothing if it is not armed
}

void timed_scope::fire() noexcept {
    expired_ = true;
    if (on->extras != nullptr) {
        on->extras->reason.clear();
    }
    request_stop(*this);
}

void timed_scope::reschedule(clock::time_point deadline) noexcept {
    if (deadline == clock::time_point::max()) {
        disarm();
        set_deadline(INT64_MAX);
    } else {
        static_cast<loop&>(on->home()).arm(*this, deadline);
    }
}

next_step timed_scope::stopped(fiber& on, walk& stop) noexcept {
    disarm();
    leave_scope(*this);
    work_is_gone_ = true;
    if (stop.error != nullptr) {
        lost_to_ = std::move(stop.error);
        return return_to_parent(*this, on);
    }
    if (stop.target != static_cast<frame*>(this)) {
        return let_pass(*this, on);
    }
    if (on.has(stop_pending)) {  // one aimed further out came meanwhile: it wins
        stop.target = nullptr;
        return let_pass(*this, on);
    }
    caught_ = true;
    return return_to_parent(*this, on);
}

}  // namespace detail

clock::time_point current_deadline() noexcept {
    clock::time_point earliest = clock::time_point::max();
    const detail::fiber* on = detail::this_thread.running;
    const detail::scope* each = on != nullptr ? on->scopes : nullptr;
    while (on != nullptr) {
        for (; each != nullptr; each = each->outer) {
            if (each->shielding) {
                return earliest;
            }
            if (&each->table() == &detail::table_of<detail::timed_scope>) {
                earliest =
                    std::min(earliest, static_cast<const detail::timed_scope*>(each)->deadline());
            }
        }
        each = on->group->inside;
        on = on->group->owner;
    }
    return earliest;
}

void cancel_scope::claim() {
    if (used_) {
        throw invalid_state("cancel_scope: a scope can be run once");
    }
    if (detail::this_thread.running == nullptr) {
        throw invalid_state("cancel_scope: run it inside a task");
    }
    used_ = true;
}

void cancel_scope::cancel(std::string_view reason) {
    cancel_called_ = true;
    if (active_ == nullptr || active_->on == nullptr) {
        return;
    }
    active_->on->home().check_thread("cancel_scope.cancel()");
    if (!reason.empty()) {
        active_->on->extra_reason(reason);
    }
    request_stop(*active_);
}

std::optional<clock::time_point> cancel_scope::deadline() const noexcept {
    const clock::time_point when = active_ != nullptr ? active_->deadline() : deadline_;
    return when == clock::time_point::max() ? std::nullopt : std::optional(when);
}

void cancel_scope::reschedule(std::optional<clock::time_point> deadline) {
    if (active_ == nullptr || active_->on == nullptr) {
        throw invalid_state(used_ ? "cancel_scope: reschedule after the scope was left"
                                  : "cancel_scope: reschedule before the scope was entered");
    }
    if (active_->expired() || cancel_called_) {
        throw invalid_state("cancel_scope: reschedule while the work is being stopped");
    }
    active_->reschedule(deadline.value_or(clock::time_point::max()));
}

}  // namespace weir
