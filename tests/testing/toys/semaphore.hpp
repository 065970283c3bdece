// SPDX-License-Identifier: MIT
#pragma once

#include "testing/toys/waiters.hpp"

namespace toys {

enum class semaphore_bug {
    none,
    leaked_on_timeout,  // a waiter is counted against the permits, and not any more when it gives
                        // up
    released_twice,     // by the permit, and again by the operation that made it
};

template <semaphore_bug Bug = semaphore_bug::none>
class semaphore {
public:
    explicit semaphore(int permits) noexcept : available_(permits) {}

    class permit {
    public:
        explicit permit(semaphore& of) noexcept : semaphore_(&of) {}
        permit(permit&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
        permit& operator=(permit&&) = delete;
        ~permit() {
            if (semaphore_ != nullptr) {
                semaphore_->release();
            }
        }

    private:
        semaphore* semaphore_;
    };

    class acquire_operation final : public weir::operation {
    public:
        explicit acquire_operation(semaphore& wanted) noexcept : semaphore_(wanted) {}
        ~acquire_operation() {
            if (is_granted_) {
                semaphore_.release();
            }
        }
        bool ready() noexcept override {
            if (semaphore_.available_ > 0) {
                --semaphore_.available_;
                is_granted_ = true;
            }
            return is_granted_;
        }
        bool start() noexcept override {
            --semaphore_.available_;  // below zero: so many wait
            semaphore_.waiters_.add(*this);
            return true;
        }
        bool cancel() noexcept override {
            semaphore_.waiters_.remove(*this);
            if (Bug != semaphore_bug::leaked_on_timeout) {
                ++semaphore_.available_;
            }
            return true;
        }
        permit resume() noexcept {
            // Only a permit that was waited for is released twice: the rare path.
            if (Bug != semaphore_bug::released_twice || !has_waited_) {
                is_granted_ = false;
            }
            return permit(semaphore_);
        }

    private:
        friend semaphore;
        semaphore& semaphore_;
        bool is_granted_ = false;
        bool has_waited_ = false;
    };

    acquire_operation acquire() noexcept { return acquire_operation(*this); }

private:
    void release() noexcept {
        ++available_;
        if (!waiters_.empty()) {
            acquire_operation& next = waiters_.take_oldest();
            next.is_granted_ = true;
            next.has_waited_ = true;
            next.complete();
        }
    }

    waiters<acquire_operation> waiters_;
    int available_;
};

}  // namespace toys
