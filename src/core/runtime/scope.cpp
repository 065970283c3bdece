// SPDX-License-Identifier: MIT
// A timed scope arms its timer when the code inside it suspends for the first time (code that never
// suspends needs no timer) and disarms it when the scope is left, in any way. Expiry is an ordinary
// stop request aimed at the scope; the walk's target shows whether a stop that reaches the scope is
// its own, so the scope has no counts to keep or to undo.

#include "core/runtime/fiber_extras.hpp"

#include <weir/base/fault_point.hpp>
#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/refusal.hpp>
#include <weir/scope.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <typeinfo>

namespace weir {

namespace detail {

bool timed_scope::begin_in_time(fiber& on) noexcept {
    const clock::time_point when = deadline();
    if (when == clock::time_point::max() || when_ == expiry::at_next_turn ||
        when > static_cast<loop&>(on.home()).now()) {
        enter_scope(*this, on);
        return true;
    }
    if (when_ == expiry::before_start) {
        expired_ = true;
        caught_ = true;
        return false;
    }
    is_late_ = true;
    enter_scope(*this, on);
    request_stop(*this);
    return true;
}

void timed_scope::child_suspended() noexcept {
    if (where != nullptr && !is_armed() && !expired_ && !is_late_ &&
        deadline() != clock::time_point::max()) {
        auto& home = static_cast<loop&>(where->home());
        if (this_thread.faults != nullptr && fault_at(io_point::timer, "timeout").cut_short)
            [[unlikely]] {
            home.arm(*this, home.now());
        } else {
            home.arm(*this, deadline());
        }
    }
}

void timed_scope::disarm() noexcept {
    static_cast<loop&>(where->home()).disarm(*this);  // does nothing if it is not armed
}

void timed_scope::fire() noexcept {
    expired_ = true;
    request_stop(*this);
}

void timed_scope::reschedule(clock::time_point deadline) noexcept {
    if (is_late_) {  // withdraws the request of the old deadline, which was not delivered
        is_late_ = false;
        requested = false;
        refresh_stop(*where);
    }
    if (deadline == clock::time_point::max()) {
        disarm();
        set_deadline(INT64_MAX);
    } else {
        static_cast<loop&>(where->home()).arm(*this, deadline);
    }
}

namespace {

// All errors are refusals because of a deadline, of waits that would have ended after it.
bool foresees(const std::exception_ptr& error, clock::duration time_left) {
#ifdef __GLIBCXX__  // other errors are not thrown once more
    const std::type_info& type = *error.__cxa_exception_type();
    if (type != typeid(refused) && type != typeid(error_group)) {
        return false;
    }
#endif
    try {
        std::rethrow_exception(error);
    } catch (const refused& why) {
        constexpr clock::duration unknown{};
        return why.reason() == refusal_reason::past_deadline &&
               (why.retry_after() == unknown || why.retry_after() > time_left);
    } catch (const error_group& several) {
        return std::all_of(
            several.errors().begin(), several.errors().end(),
            [&](const std::exception_ptr& each) { return foresees(each, time_left); });
    } catch (...) {
        return false;
    }
}

}  // namespace

bool timed_scope::is_own_end(const std::exception_ptr& error) noexcept {
    if (error == nullptr || is_stop_of(*this, error)) {
        return error != nullptr;
    }
    // Of several deadlines around the work, it is the earliest that leaves no time to wait.
    if (deadline() == clock::time_point::max() || deadline() > current_deadline() ||
        !foresees(error, deadline() - loop::current().now())) {
        return false;
    }
    expired_ = foreseen_ = true;
    return true;
}

void timed_scope::throw_timed_out(const std::exception_ptr& error) const {
    throw foreseen_ ? timed_out("timed out: " + describe(error)) : timed_out();
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
    for (;;) {
        for (; each != nullptr; each = each->outer) {
            if (each->shielding) {
                return earliest;
            }
            if (&each->table() == &detail::table_of<detail::timed_scope>) {
                earliest =
                    std::min(earliest, static_cast<const detail::timed_scope*>(each)->deadline());
            }
        }
        if (on == nullptr) {
            return earliest;
        }
        each = on->group->inside;
        on = on->group->owner;
    }
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
    if (active_ != nullptr && active_->where != nullptr) {
        active_->where->home().check_thread("cancel_scope.cancel()");
    }
    cancel_called_ = true;
    reason_.request(reason);
    if (active_ != nullptr) {
        request_stop(*active_);
    }
}

std::optional<clock::time_point> cancel_scope::deadline() const noexcept {
    const clock::time_point when = active_ != nullptr ? active_->deadline() : deadline_;
    return when == clock::time_point::max() ? std::nullopt : std::optional(when);
}

bool cancel_scope::try_reschedule(std::optional<clock::time_point> deadline) {
    if (!used_) {
        throw invalid_state("cancel_scope: reschedule before the scope was entered");
    }
    if (active_ == nullptr || active_->where == nullptr || active_->expired() || cancel_called_) {
        return false;
    }
    active_->reschedule(deadline.value_or(clock::time_point::max()));
    return true;
}

void cancel_scope::reschedule(std::optional<clock::time_point> deadline) {
    if (try_reschedule(deadline)) {
        return;
    }
    const bool was_left = active_ == nullptr || active_->where == nullptr;
    throw invalid_state(was_left ? "cancel_scope: reschedule after the scope was left"
                                 : "cancel_scope: reschedule while the work is being stopped");
}

}  // namespace weir
