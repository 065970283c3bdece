// SPDX-License-Identifier: MIT
// A fiber counts as a holder from the moment it is let in, before it resumes. One that is stopped
// in between, and one that leaves the line, may have kept others out: those behind it are let in.

#include <weir/error.hpp>
#include <weir/sync/shared_mutex.hpp>

#include <string>

namespace weir {

namespace {

[[noreturn]] void throw_nothing_held(const char* what) {
    throw invalid_state(std::string(what) + ": it holds no lock");
}

}  // namespace

void shared_mutex::grant_waiting() noexcept {
    while (waiters_.has_waiting() && !has_writer_) {
        const auto& first = static_cast<detail::shared_mutex_operation&>(
            detail::wait_list::at(waiters_.first_waiting()));
        if (first.is_writer()) {
            if (readers_ > 0) {
                return;
            }
            has_writer_ = true;
        } else {
            ++readers_;
        }
        waiters_.grant_first();
    }
}

void shared_mutex::shared_guard::unlock() {
    if (mutex_ == nullptr) {
        throw_nothing_held("shared_mutex::shared_guard::unlock()");
    }
    std::exchange(mutex_, nullptr)->leave_shared();
}

void shared_mutex::guard::unlock() {
    if (mutex_ == nullptr) {
        throw_nothing_held("shared_mutex::guard::unlock()");
    }
    std::exchange(mutex_, nullptr)->leave();
}

shared_mutex::shared_guard shared_mutex::guard::downgrade() {
    if (mutex_ == nullptr) {
        throw_nothing_held("shared_mutex::guard::downgrade()");
    }
    shared_mutex& held = *std::exchange(mutex_, nullptr);
    ++held.readers_;
    held.leave();
    return shared_guard(held);
}

namespace detail {

bool shared_mutex_operation::cancel() noexcept {
    mutex_->waiters_.remove(*this);
    state_ = wait_state::idle;
    mutex_->let_in();
    return true;
}

shared_mutex& shared_mutex_operation::locked() {
    if (state_ == wait_state::granted) {
        mutex_->waiters_.remove_granted(*this);
        state_ = wait_state::idle;
    } else if (state_ != wait_state::idle) {
        throw_wait_error(std::exchange(state_, wait_state::idle), "shared_mutex");
    }
    return *mutex_;
}

void shared_mutex_operation::abandon() noexcept {
    if (state_ == wait_state::waiting) {
        cancel();
    } else if (state_ == wait_state::granted) {
        mutex_->waiters_.remove_granted(*this);
        if (is_writer_) {
            mutex_->leave();
        } else {
            mutex_->leave_shared();
        }
    }
}

}  // namespace detail

}  // namespace weir
