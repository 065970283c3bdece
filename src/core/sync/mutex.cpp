// SPDX-License-Identifier: MIT
// The rare paths of the mutex, and what all waiting operations throw.
//
// An operation that is destroyed in any state but idle did not get to resume: its fiber was
// stopped. If it was granted the lock, the lock goes to the next in line.

#include <weir/error.hpp>
#include <weir/sync/mutex.hpp>

#include <string>

namespace weir::detail {

void throw_wait_error(wait_state state, const char* primitive) {
    const std::string name(primitive);
    if (state == wait_state::wrong_loop) {
        throw invalid_state("this " + name +
                            " belongs to another loop: tasks of that loop have waited for it");
    }
    throw invalid_state("the " + name + " was destroyed while a task waited for it");
}

void throw_not_locked(const char* what) {
    throw invalid_state(std::string(what) + ": it is not locked");
}

void mutex_operation::abandon() noexcept {
    if (state_ == wait_state::waiting) {
        mutex_->waiters_.remove(*this);
    } else if (state_ == wait_state::granted) {
        mutex_->waiters_.remove_granted(*this);
        mutex_->hand_on();
    }
}

}  // namespace weir::detail
