// SPDX-License-Identifier: MIT
// The rare paths of the semaphore.
//
// Permits are in one of three places: free, held, or granted to an operation whose fiber has not
// run yet. They move from held to granted directly, so that no newcomer can take them. Permits that
// come back while nobody else waits are free, but a newcomer may not take one before the granted
// operations have gone on: it waits, and the next of them to go on grants what is free. Permits are
// also free while they are too few for the first in line; whatever changes that, a release or the
// end of its wait, grants what can be granted.

#include <weir/error.hpp>
#include <weir/sync/semaphore.hpp>

#include <string>

namespace weir {

semaphore::semaphore(std::ptrdiff_t count, std::ptrdiff_t bound) : free_(count), bound_(bound) {
    if (count < 0) {
        throw invalid_argument("a semaphore cannot have " + std::to_string(count) + " permits");
    }
}

void semaphore::release(std::ptrdiff_t count) {
    if (count < 0) {
        throw invalid_argument("semaphore::release: cannot release " + std::to_string(count) +
                               " permits");
    }
    if (count > bound_ - free_) {
        throw invalid_state("semaphore::release: released more often than acquired (" +
                            std::to_string(free_) + " of " + std::to_string(bound_) +
                            " permits are free, " + std::to_string(count) + " came back)");
    }
    waiters_.check_thread("semaphore::release()");
    free_ += count;
    grant_free();
}

void semaphore::check_count(std::ptrdiff_t count) const {
    if (count < 1 || count > bound_) {
        throw invalid_argument("semaphore::acquire: " + std::to_string(count) +
                               " permits cannot be acquired" +
                               (count < 1 ? "; it must be at least 1"
                                          : "; the semaphore has " + std::to_string(bound_)));
    }
}

std::optional<semaphore::permits> semaphore::try_acquire(std::ptrdiff_t count) {
    check_count(count);
    if (!take(count)) {
        return std::nullopt;
    }
    return permits(*this, count);
}

void semaphore::give_back(std::ptrdiff_t count) noexcept {
    waiters_.check_thread("semaphore: release");
    free_ = count < bound_ - free_ ? free_ + count : bound_;
    grant_free();
}

void semaphore::grant_free() noexcept {
    while (waiters_.has_waiting()) {
        const std::ptrdiff_t wanted =
            static_cast<detail::permit_waiter&>(detail::wait_list::at(waiters_.first_waiting()))
                .wanted();
        if (wanted > free_) {
            break;
        }
        free_ -= wanted;
        waiters_.grant_first();
    }
}

void semaphore::permit::release() {
    if (from_ == nullptr) {
        throw invalid_state("semaphore::permit::release: it holds no permit");
    }
    std::exchange(from_, nullptr)->release();
}

void semaphore::permits::release() {
    if (from_ == nullptr) {
        throw invalid_state("semaphore::permits::release: it holds none");
    }
    std::exchange(from_, nullptr)->release(count_);
}

namespace detail {

void permit_waiter::abandon() noexcept {
    if (state_ == wait_state::waiting) {
        leave();
    } else if (state_ == wait_state::granted) {
        from_->waiters_.remove_granted(*this);
        from_->give_back(wanted_);
        from_->grant_free();
    }
}

}  // namespace detail

}  // namespace weir
