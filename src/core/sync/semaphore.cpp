// SPDX-License-Identifier: MIT
// The rare paths of the semaphore.
//
// Permits are in one of three places: free, held, or granted to an operation whose fiber has not
// run yet. They move from held to granted directly, so that no newcomer can take them. Permits that
// come back while nobody else waits are free, but a newcomer may not take one before the granted
// operations have gone on: it waits, and the next of them to go on grants what is free.

#include <weir/error.hpp>
#include <weir/sync/semaphore.hpp>

#include <string>

namespace weir {

semaphore::semaphore(std::ptrdiff_t permits, std::ptrdiff_t bound) : free_(permits), bound_(bound) {
    if (permits < 0) {
        throw invalid_argument("a semaphore cannot have " + std::to_string(permits) + " permits");
    }
}

void semaphore::release(std::ptrdiff_t permits) {
    if (permits < 0) {
        throw invalid_argument("semaphore::release: cannot release " + std::to_string(permits) +
                               " permits");
    }
    if (permits > bound_ - free_) {
        throw invalid_state("semaphore::release: released more often than acquired (" +
                            std::to_string(free_) + " of " + std::to_string(bound_) +
                            " permits are free, " + std::to_string(permits) + " came back)");
    }
    waiters_.check_thread("semaphore::release()");
    for (; permits > 0 && waiters_.has_waiting(); --permits) {
        waiters_.grant_first();
    }
    free_ += permits;
}

void semaphore::grant_free() noexcept {
    for (; free_ > 0 && waiters_.has_waiting(); --free_) {
        waiters_.grant_first();
    }
}

void semaphore::permit::release() {
    if (from_ == nullptr) {
        throw invalid_state("semaphore::permit::release: it holds no permit");
    }
    std::exchange(from_, nullptr)->release();
}

namespace detail {

void permit_operation::abandon() noexcept {
    if (state_ == wait_state::waiting) {
        from_->waiters_.remove(*this);
    } else if (state_ == wait_state::granted) {
        from_->waiters_.remove_granted(*this);
        from_->give_back();
        from_->grant_free();
    }
}

}  // namespace detail

}  // namespace weir
