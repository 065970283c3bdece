// SPDX-License-Identifier: MIT
// mutex: one at a time, in the order of asking.
//
//     auto lock = co_await mutex.lock();   // unlocks when it goes out of scope
//
// For fibers of one loop; it is not for threads. A release hands the lock to the fiber that has
// waited longest, so none overtakes. A fiber that is stopped while it waits leaves the line; one
// that is stopped after the lock was handed to it passes the lock on. A mutex may be made before
// there is a loop, and belongs to the loop in which a fiber first had to wait for it. If it is
// destroyed while fibers wait, they throw invalid_state.
#pragma once

#include <weir/base/wait_list.hpp>
#include <weir/base/wait_request.hpp>

#include <optional>
#include <utility>

namespace weir {

class mutex;

namespace detail {

[[noreturn]] void throw_not_locked(const char* what);
// Debug mode: remembers which fiber holds the lock and where it asked for it. A fiber that waits
// for a lock that it holds itself is reported.
void note_lock(const mutex& locked) noexcept;
void report_relock(const mutex& awaited) noexcept;

// Waits for a mutex; the derived class decides the result.
class mutex_operation : public listed_operation {
public:
    using primitive = mutex;

    inline bool ready() noexcept override;
    inline bool start() noexcept override;
    inline bool cancel() noexcept override;
    const char* name() const noexcept override { return "mutex.lock"; }

    inline static bool take(mutex& wanted) noexcept;
    mutex& from() const noexcept { return *mutex_; }
    inline void finish();

protected:
    explicit mutex_operation(mutex& locked) noexcept
        : listed_operation(set_later()), mutex_(&locked) {}
    ~mutex_operation() {
        if (state_ != wait_state::idle) [[unlikely]] {
            abandon();
        }
    }

private:
    void abandon() noexcept;

    mutex* mutex_;
};

class lock_operation;
class acquire_operation;
class condition_operation;
using lock_request = wait_request<lock_operation>;
using acquire_request = wait_request<acquire_operation>;

}  // namespace detail

class mutex {
public:
    // Holds the lock, and unlocks when it goes.
    class [[nodiscard]] guard {
    public:
        guard() noexcept = default;
        // Takes over a lock that is held already.
        explicit guard(mutex& held) noexcept : mutex_(&held) {}
        guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
        guard& operator=(guard&& other) noexcept {
            guard old(std::move(*this));
            mutex_ = std::exchange(other.mutex_, nullptr);
            return *this;
        }
        ~guard() {
            if (mutex_ != nullptr) {
                mutex_->hand_on();
            }
        }

        // Unlocks now. Throws invalid_state if it holds nothing.
        void unlock() {
            if (mutex_ == nullptr) [[unlikely]] {
                detail::throw_not_locked("mutex::guard::unlock()");
            }
            std::exchange(mutex_, nullptr)->release();
        }
        // Lets go without unlocking: a later release() does.
        mutex* detach() noexcept { return std::exchange(mutex_, nullptr); }
        explicit operator bool() const noexcept { return mutex_ != nullptr; }

    private:
        mutex* mutex_ = nullptr;
    };

    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() { waiters_.orphan(); }

    // co_await lock(): waits for its turn, and gives a guard.
    inline detail::lock_request lock() noexcept;
    // An empty result if it is locked.
    std::optional<guard> try_lock() noexcept {
        if (!try_acquire()) {
            return std::nullopt;
        }
        return guard(*this);
    }

    // Without a guard. There is no owner: any fiber may release, and one that holds the lock and
    // locks it again waits, which debug mode reports as a deadlock. Releasing a free mutex throws
    // invalid_state, and so does releasing one whose lock is on its way to the next fiber: no fiber
    // holds it yet.
    inline detail::acquire_request acquire() noexcept;
    bool try_acquire() noexcept {
        if (locked_) {
            return false;
        }
        locked_ = true;
        if (detail::this_thread.plain_loop == nullptr) [[unlikely]] {
            detail::note_lock(*this);
        }
        return true;
    }
    void release() {
        if (!locked_ || waiters_.has_granted()) [[unlikely]] {
            detail::throw_not_locked("mutex::release()");
        }
        waiters_.check_thread("mutex::release()");
        hand_on();
    }

    // Would a lock() wait? True as well while the lock is on its way from one fiber to the next.
    bool locked() const noexcept { return locked_; }

private:
    friend class detail::mutex_operation;
    friend class detail::condition_operation;

    // On a wrong thread this ends the program: it serves destructors.
    void hand_on() noexcept {
        if (!waiters_.has_waiting()) {
            locked_ = false;
            return;
        }
        if (!waiters_.is_plain()) [[unlikely]] {
            check_hand_on();
        }
        waiters_.grant_first();
    }
    void check_hand_on() const noexcept;

    detail::wait_list waiters_;  // never any that wait while it is not locked
    bool locked_ = false;
};

namespace detail {

inline bool mutex_operation::ready() noexcept {
    return mutex_->try_acquire();
}
inline bool mutex_operation::start() noexcept {
    if (this_thread.plain_loop == nullptr) [[unlikely]] {
        report_relock(*mutex_);
    }
    return mutex_->waiters_.enter(*this);
}
inline bool mutex_operation::cancel() noexcept {
    mutex_->waiters_.remove(*this);
    state_ = wait_state::idle;
    return true;
}
inline bool mutex_operation::take(mutex& wanted) noexcept {
    return wanted.try_acquire();
}
inline void mutex_operation::finish() {
    if (state_ != wait_state::idle) {
        if (state_ != wait_state::granted) [[unlikely]] {
            throw_wait_error(std::exchange(state_, wait_state::idle), "mutex");
        }
        mutex_->waiters_.remove_granted(*this);
        state_ = wait_state::idle;
    }
}

class WEIR_MUST_AWAIT lock_operation final : public mutex_operation {
public:
    explicit lock_operation(mutex& locked) noexcept : mutex_operation(locked) {}
    static mutex::guard result(mutex& locked) noexcept { return mutex::guard(locked); }
};

class WEIR_MUST_AWAIT acquire_operation final : public mutex_operation {
public:
    explicit acquire_operation(mutex& locked) noexcept : mutex_operation(locked) {}
    static void result(mutex&) noexcept {}
};

}  // namespace detail

inline detail::lock_request mutex::lock() noexcept {
    return detail::lock_request(*this);
}
inline detail::acquire_request mutex::acquire() noexcept {
    return detail::acquire_request(*this);
}

}  // namespace weir
