// SPDX-License-Identifier: MIT
// shared_mutex: many readers or one writer, in the order of asking.
//
//     auto reading = co_await table.lock_shared();   // with other readers
//     auto writing = co_await table.lock();          // alone
//
// Fair: a reader that asks after a writer waits for it, so neither side starves; readers that stand
// next to each other in the line get in together. A fiber that is stopped while it waits leaves the
// line, and those behind it get in if they can; one that is stopped after it was let in passes that
// on. For fibers of one loop; made before there is one if need be. There is no owner: a fiber that
// holds the lock and asks again may wait for itself. If it is destroyed while fibers wait, they
// throw invalid_state.
#pragma once

#include <weir/base/wait_list.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace weir {

class shared_mutex;

namespace detail {

class shared_mutex_operation;
class shared_lock_operation;
class exclusive_lock_operation;

}  // namespace detail

class shared_mutex {
public:
    // Holds the lock beside other readers, and unlocks when it goes.
    class [[nodiscard]] shared_guard {
    public:
        shared_guard() noexcept = default;
        // Takes over a shared lock that is held already.
        explicit shared_guard(shared_mutex& held) noexcept : mutex_(&held) {}
        shared_guard(shared_guard&& other) noexcept
            : mutex_(std::exchange(other.mutex_, nullptr)) {}
        shared_guard& operator=(shared_guard&& other) noexcept {
            shared_guard old(std::move(*this));
            mutex_ = std::exchange(other.mutex_, nullptr);
            return *this;
        }
        ~shared_guard() {
            if (mutex_ != nullptr) {
                mutex_->leave_shared();
            }
        }

        // Unlocks now. Throws invalid_state if it holds nothing.
        void unlock();
        explicit operator bool() const noexcept { return mutex_ != nullptr; }

    private:
        shared_mutex* mutex_ = nullptr;
    };

    // Holds the lock alone, and unlocks when it goes.
    class [[nodiscard]] guard {
    public:
        guard() noexcept = default;
        // Takes over a lock that is held already.
        explicit guard(shared_mutex& held) noexcept : mutex_(&held) {}
        guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
        guard& operator=(guard&& other) noexcept {
            guard old(std::move(*this));
            mutex_ = std::exchange(other.mutex_, nullptr);
            return *this;
        }
        ~guard() {
            if (mutex_ != nullptr) {
                mutex_->leave();
            }
        }

        // Unlocks now. Throws invalid_state if it holds nothing.
        void unlock();
        // Becomes a reader without letting another writer in between. Throws invalid_state if it
        // holds nothing.
        shared_guard downgrade();
        explicit operator bool() const noexcept { return mutex_ != nullptr; }

    private:
        shared_mutex* mutex_ = nullptr;
    };

    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    ~shared_mutex() { waiters_.orphan(); }

    // co_await lock(): waits until no other fiber holds it, and gives a guard.
    inline detail::exclusive_lock_operation lock() noexcept;
    // co_await lock_shared(): waits until no writer holds it or waits before this fiber.
    inline detail::shared_lock_operation lock_shared() noexcept;
    // An empty result if lock() or lock_shared() would wait.
    std::optional<guard> try_lock() noexcept {
        return take() ? std::optional<guard>(std::in_place, *this) : std::nullopt;
    }
    std::optional<shared_guard> try_lock_shared() noexcept {
        return take_shared() ? std::optional<shared_guard>(std::in_place, *this) : std::nullopt;
    }

    // Held by a writer, or on its way to one.
    bool locked() const noexcept { return has_writer_; }
    // Readers that hold it, or to which it is on its way.
    std::size_t readers() const noexcept { return readers_; }

private:
    friend class detail::shared_mutex_operation;

    bool take() noexcept {
        if (has_writer_ || readers_ > 0 || waiters_.has_waiting()) {
            return false;
        }
        has_writer_ = true;
        return true;
    }
    bool take_shared() noexcept {
        if (has_writer_ || waiters_.has_waiting()) {
            return false;
        }
        ++readers_;
        return true;
    }
    void leave() noexcept {
        waiters_.check_thread("shared_mutex: unlock");
        has_writer_ = false;
        let_in();
    }
    void leave_shared() noexcept {
        waiters_.check_thread("shared_mutex: unlock");
        --readers_;
        let_in();
    }
    // Grants it to those in front, as far as they can hold it together.
    void let_in() noexcept {
        if (waiters_.has_waiting()) {
            grant_waiting();
        }
    }
    void grant_waiting() noexcept;

    detail::wait_list waiters_;
    std::size_t readers_ = 0;
    bool has_writer_ = false;
};

namespace detail {

// Waits for a shared_mutex. Readers and writers stand in one line; the derived class decides the
// result.
class shared_mutex_operation : public listed_operation {
public:
    bool ready() noexcept override { return is_writer_ ? mutex_->take() : mutex_->take_shared(); }
    bool start() noexcept override { return mutex_->waiters_.enter(*this); }
    bool cancel() noexcept override;
    const char* name() const noexcept override {
        return is_writer_ ? "shared_mutex.lock" : "shared_mutex.lock_shared";
    }
    bool is_writer() const noexcept { return is_writer_; }

protected:
    shared_mutex_operation(shared_mutex& locked, bool is_writer) noexcept
        : mutex_(&locked), is_writer_(is_writer) {}
    shared_mutex_operation(shared_mutex_operation&&) noexcept = default;
    ~shared_mutex_operation() {
        if (state_ != wait_state::idle) [[unlikely]] {
            abandon();
        }
    }
    shared_mutex& locked();

private:
    void abandon() noexcept;

    shared_mutex* mutex_;
    bool is_writer_;
};

class WEIR_MUST_AWAIT exclusive_lock_operation final : public shared_mutex_operation {
public:
    explicit exclusive_lock_operation(shared_mutex& locked) noexcept
        : shared_mutex_operation(locked, true) {}
    shared_mutex::guard resume() { return shared_mutex::guard(locked()); }
};

class WEIR_MUST_AWAIT shared_lock_operation final : public shared_mutex_operation {
public:
    explicit shared_lock_operation(shared_mutex& locked) noexcept
        : shared_mutex_operation(locked, false) {}
    shared_mutex::shared_guard resume() { return shared_mutex::shared_guard(locked()); }
};

}  // namespace detail

inline detail::exclusive_lock_operation shared_mutex::lock() noexcept {
    return detail::exclusive_lock_operation(*this);
}
inline detail::shared_lock_operation shared_mutex::lock_shared() noexcept {
    return detail::shared_lock_operation(*this);
}

}  // namespace weir
