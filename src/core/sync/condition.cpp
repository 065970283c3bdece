// SPDX-License-Identifier: MIT
// How a condition waits.
//
// The operation joins the condition's list and releases the mutex. A notification moves it on to
// the mutex's own line; so does a stop, which is why cancel() answers false: the operation has let
// go only when the lock is held again. It completes by being handed the lock, and never gives it
// back: the guard in the caller's frame does.
//
// A notification is owed to a fiber that runs. When an operation that was notified is destroyed
// without having resumed, it notifies the next one, at a time when the lock is held on its behalf.

#include <weir/error.hpp>
#include <weir/sync/condition.hpp>

namespace weir {

namespace detail {

condition_operation::condition_operation(condition& awaited) noexcept
    : condition_(&awaited), mutex_(&awaited.mutex()) {}

condition_operation::~condition_operation() {
    if (phase_ == phase::before) [[likely]] {
        return;
    }
    if (state_ == wait_state::granted) {
        mutex_->waiters_.remove_granted(*this);
    } else if (state_ == wait_state::waiting && phase_ != phase::waiting) {
        mutex_->waiters_.remove(*this);
    }
    condition* from = condition_;
    const bool owes = phase_ == phase::notified && state_ == wait_state::granted;
    leave_condition();
    if (owes && from != nullptr && from->members_.has_waiting()) {
        from->notify_first(phase::notified);
    }
}

bool condition_operation::ready() noexcept {
    return !mutex_->locked();  // a mistake, which resume() reports
}

bool condition_operation::start() noexcept {
    const std::uint32_t here = this_thread.loop->id();
    if (condition_->loop_ != here) {
        if (condition_->loop_ != 0) {
            state_ = wait_state::wrong_loop;
            return false;
        }
        condition_->loop_ = here;
    }
    phase_ = phase::waiting;
    state_ = wait_state::waiting;
    membership_.member = this;
    condition_->members_.append(membership_);
    mutex_->hand_on();
    return true;
}

bool condition_operation::cancel() noexcept {
    if (phase_ != phase::waiting) {
        return false;  // competes for the lock already
    }
    leave_condition();
    phase_ = phase::stopped;
    if (mutex_->try_acquire()) {
        state_ = wait_state::idle;
        return true;
    }
    compete();
    return false;
}

void condition_operation::resume() {
    const phase reached = std::exchange(phase_, phase::before);
    const wait_state state = std::exchange(state_, wait_state::idle);
    if (reached == phase::before) [[unlikely]] {
        if (state == wait_state::wrong_loop) {
            throw_wait_error(state, "condition");
        }
        throw_not_locked("condition::wait()");
    }
    if (state == wait_state::granted) [[likely]] {
        mutex_->waiters_.remove_granted(*this);
    }
    leave_condition();
    if (state == wait_state::orphaned) [[unlikely]] {
        throw_wait_error(state, "mutex of a condition");
    }
    if (reached == phase::orphaned) [[unlikely]] {
        throw_wait_error(wait_state::orphaned, "condition");
    }
}

void condition_operation::compete() noexcept {
    mutex_->waiters_.enter_unchecked(*this);
}

void condition_operation::orphan() noexcept {
    leave_condition();
    condition_ = nullptr;
    if (phase_ == phase::waiting) {  // a notified operation needs the condition no more
        phase_ = phase::orphaned;
        compete();
        if (mutex_->try_acquire()) {
            mutex_->hand_on();
        }
    }
}

void condition_operation::leave_condition() noexcept {
    if (membership_.member != nullptr) {
        condition_->members_.remove(membership_);
        membership_.member = nullptr;
    }
}

}  // namespace detail

condition::operation& condition::first_waiting() const noexcept {
    return *static_cast<operation::membership&>(members_.first_waiting()).member;
}

condition::~condition() {
    while (!members_.is_empty()) {
        operation& member = *static_cast<operation::membership&>(members_.first()).member;
        member.orphan();
    }
}

void condition::notify_first(operation::phase reached) noexcept {
    operation& first = first_waiting();
    members_.advance();
    first.phase_ = reached;
    first.compete();
}

void condition::check_locked(const char* what) const {
    if (!mutex_->locked()) {
        detail::throw_not_locked(what);
    }
}

// The lock may be held by a thread that does not run the loop of those who wait.
void condition::check_thread(const char* what) const {
    if (members_.has_waiting()) {
        first_waiting().waiting_fiber().home().check_thread(what);
    }
}

void condition::notify(std::size_t count) {
    check_locked("condition::notify()");
    check_thread("condition::notify()");
    for (; count > 0 && members_.has_waiting(); --count) {
        notify_first(operation::phase::notified);
    }
}

void condition::notify_all() {
    check_locked("condition::notify_all()");
    check_thread("condition::notify_all()");
    while (members_.has_waiting()) {
        notify_first(operation::phase::notified_all);
    }
}

}  // namespace weir
