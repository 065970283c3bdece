// SPDX-License-Identifier: MIT
#pragma once

#include "testing/toys/waiters.hpp"

#include <weir/loop.hpp>

namespace toys {

enum class mutex_bug {
    none,
    grant_lost_on_cancel,  // a task that was handed the lock and is stopped before it runs keeps it for
                           // ever
    no_recheck,    // unlocked for a waiter, which takes it without a check: a newcomer may have it
    barging,       // a newcomer takes the lock although others wait
    wake_up_lost,  // 'a waiter was woken' stays true when that waiter is stopped
};

template <mutex_bug Bug = mutex_bug::none>
class mutex {
public:
    class guard {
    public:
        explicit guard(mutex& locked) noexcept : mutex_(&locked) {}
        guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
        guard& operator=(guard&&) = delete;
        ~guard() { unlock(); }
        void unlock() noexcept {
            if (mutex_ != nullptr) {
                std::exchange(mutex_, nullptr)->unlock();
            }
        }

    private:
        mutex* mutex_;
    };

    class lock_operation final : public weir::operation {
    public:
        explicit lock_operation(mutex& wanted) noexcept : mutex_(wanted) {}
        ~lock_operation() {
            const bool stolen = Bug == mutex_bug::no_recheck && mutex_.is_locked_;
            if (is_granted_ && Bug != mutex_bug::grant_lost_on_cancel && !stolen) {
                mutex_.unlock();
            }
        }
        bool ready() noexcept override { return is_granted_ = mutex_.try_lock(); }
        bool start() noexcept override {
            mutex_.waiters_.add(*this);
            return true;
        }
        bool cancel() noexcept override {
            mutex_.waiters_.remove(*this);
            return true;
        }
        const char* name() const noexcept override { return "toy mutex"; }
        guard resume() noexcept {
            is_granted_ = false;
            mutex_.is_locked_ = true;
            mutex_.was_woken_ = false;
            return guard(mutex_);
        }

    private:
        friend mutex;
        void grant() noexcept {
            is_granted_ = true;
            complete();
        }
        mutex& mutex_;
        bool is_granted_ = false;
    };

    lock_operation lock() noexcept { return lock_operation(*this); }

private:
    bool try_lock() noexcept {
        const bool takes = !is_locked_ && (waiters_.empty() || Bug == mutex_bug::barging);
        is_locked_ = is_locked_ || takes;
        return takes;
    }

    void unlock() noexcept {
        if (waiters_.empty()) {
            is_locked_ = false;
            return;
        }
        switch (Bug) {
            case mutex_bug::barging:
                // The holder may lock again before the waiter is even woken.
                is_locked_ = false;
                weir::loop::current().call_soon([this] {
                    if (!is_locked_ && !waiters_.empty()) {
                        is_locked_ = true;
                        waiters_.take_oldest().grant();
                    }
                });
                return;
            case mutex_bug::no_recheck:
                is_locked_ = false;
                break;
            case mutex_bug::wake_up_lost:
                if (std::exchange(was_woken_, true)) {
                    return;
                }
                break;
            default:
                break;
        }
        waiters_.take_oldest().grant();
    }

    waiters<lock_operation> waiters_;
    bool is_locked_ = false;
    bool was_woken_ = false;
};

}  // namespace toys
