// SPDX-License-Identifier: MIT
// semaphore and bounded_semaphore: so many at a time, in the order of asking.
//
//     auto permit = co_await slots.acquire();     // given back when it goes out of scope
//     auto permit = co_await memory.acquire(64);  // 64 at once: all of them, or none yet
//
// A limit on concurrency, not on rate. A permit that comes back goes to the fiber that has waited
// longest. One that waits for many is not starved: while it is first in line, what comes back is
// kept for it, and later ones wait behind it, even for fewer. None overtakes: as long as a fiber
// that was handed a permit has not resumed, newcomers wait behind it, even if more permits are
// free; when it resumes, they get those. A fiber that is stopped while it waits leaves the line,
// and one that is stopped after a permit was handed to it passes the permit on. Belongs to one
// loop; made before there is one if need be. If it is destroyed while fibers wait, they throw
// invalid_state.
#pragma once

#include <weir/base/wait_list.hpp>
#include <weir/base/wait_request.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace weir {

class semaphore;

namespace detail {

class permit_waiter;
class permit_operation;
class permits_operation;
using permit_request = wait_request<permit_operation>;

}  // namespace detail

class semaphore {
public:
    // One unit, given back when it goes.
    class [[nodiscard]] permit {
    public:
        permit() noexcept = default;
        explicit permit(semaphore& from) noexcept : from_(&from) {}
        permit(permit&& other) noexcept : from_(std::exchange(other.from_, nullptr)) {}
        permit& operator=(permit&& other) noexcept {
            permit old(std::move(*this));
            from_ = std::exchange(other.from_, nullptr);
            return *this;
        }
        ~permit() {
            if (from_ != nullptr) {
                from_->give_back();
            }
        }

        // Gives it back now. Throws invalid_state if it holds nothing.
        void release();
        // Keeps it out: a later semaphore::release() gives it back.
        void detach() noexcept { from_ = nullptr; }
        explicit operator bool() const noexcept { return from_ != nullptr; }

    private:
        semaphore* from_ = nullptr;
    };

    // As many as were acquired together, given back together.
    class [[nodiscard]] permits {
    public:
        permits() noexcept = default;
        permits(semaphore& from, std::ptrdiff_t count) noexcept : from_(&from), count_(count) {}
        permits(permits&& other) noexcept
            : from_(std::exchange(other.from_, nullptr)), count_(other.count_) {}
        permits& operator=(permits&& other) noexcept {
            permits old(std::move(*this));
            from_ = std::exchange(other.from_, nullptr);
            count_ = other.count_;
            return *this;
        }
        ~permits() {
            if (from_ != nullptr) {
                from_->give_back(count_);
            }
        }

        // As those of permit.
        void release();
        void detach() noexcept { from_ = nullptr; }
        explicit operator bool() const noexcept { return from_ != nullptr; }
        std::ptrdiff_t count() const noexcept { return from_ != nullptr ? count_ : 0; }

    private:
        semaphore* from_ = nullptr;
        std::ptrdiff_t count_ = 0;
    };

    // Throws invalid_argument if the number is negative; zero is a semaphore that starts empty.
    explicit semaphore(std::ptrdiff_t count)
        : semaphore(count, std::numeric_limits<std::ptrdiff_t>::max()) {}
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;
    ~semaphore() { waiters_.orphan(); }

    // co_await acquire(): waits for its turn, and gives a permit.
    inline detail::permit_request acquire() noexcept;
    // The same for several at once, which come as one object. Throws invalid_argument unless the
    // number is positive and, for a bounded semaphore, one that can ever be free.
    inline detail::permits_operation acquire(std::ptrdiff_t count);
    // An empty result if acquire() would wait.
    std::optional<permit> try_acquire() noexcept {
        if (!take()) {
            return std::nullopt;
        }
        return permit(*this);
    }
    std::optional<permits> try_acquire(std::ptrdiff_t count);
    // Adds permits: those of detached ones, or new ones. Throws invalid_argument if the number is
    // negative, and invalid_state, changing nothing, if a bounded semaphore would hold more than it
    // started with.
    void release(std::ptrdiff_t count = 1);

    // Free permits.
    std::ptrdiff_t value() const noexcept { return free_; }
    // Would an acquire() wait? Also with free permits, while others are before it.
    bool locked() const noexcept { return free_ == 0 || !waiters_.is_empty(); }

protected:
    semaphore(std::ptrdiff_t count, std::ptrdiff_t bound);

private:
    friend class detail::permit_waiter;
    friend class detail::permit_operation;
    friend class detail::permits_operation;

    void check_count(std::ptrdiff_t count) const;
    bool take() noexcept {
        if (locked()) {
            return false;
        }
        --free_;
        return true;
    }
    bool take(std::ptrdiff_t count) noexcept {
        if (free_ < count || !waiters_.is_empty()) {
            return false;
        }
        free_ -= count;
        return true;
    }
    // An operation that was granted permits has gone on, or was stopped: those that queued up
    // behind it get what is free.
    void remove_granted(detail::listed_operation& gone) noexcept {
        waiters_.remove_granted(gone);
        if (free_ != 0) [[unlikely]] {
            grant_free();
        }
    }
    void grant_free() noexcept;
    // Capped, since it serves destructors: too many releases elsewhere do not lift the bound.
    inline void give_back() noexcept;
    void give_back(std::ptrdiff_t count) noexcept;

    // None waits while as many as it wants are free, except behind operations that were granted
    // theirs, and behind one that wants more.
    detail::wait_list waiters_;
    std::ptrdiff_t free_;
    std::ptrdiff_t bound_;
};

// Never holds more permits than it started with: a release too many is an error.
class bounded_semaphore : public semaphore {
public:
    explicit bounded_semaphore(std::ptrdiff_t count) : semaphore(count, count) {}
};

namespace detail {

class permit_waiter : public listed_operation {
public:
    using primitive = semaphore;

    semaphore& from() const noexcept { return *from_; }
    std::ptrdiff_t wanted() const noexcept { return wanted_; }
    bool start() noexcept override { return from_->waiters_.enter(*this); }
    bool cancel() noexcept override {
        leave();
        state_ = wait_state::idle;
        return true;
    }
    const char* name() const noexcept override { return "semaphore.acquire"; }

    // The fiber goes on: takes what was granted, or throws.
    void finish() {
        if (state_ != wait_state::idle) {
            if (state_ != wait_state::granted) [[unlikely]] {
                throw_wait_error(std::exchange(state_, wait_state::idle), "semaphore");
            }
            state_ = wait_state::idle;
            from_->remove_granted(*this);
        }
    }

protected:
    permit_waiter(semaphore& from, std::ptrdiff_t wanted) noexcept
        : from_(&from), wanted_(wanted) {}
    permit_waiter(set_later later, semaphore& from) noexcept
        : listed_operation(later), from_(&from), wanted_(1) {}
    permit_waiter(permit_waiter&&) noexcept = default;
    ~permit_waiter() {
        if (state_ != wait_state::idle) [[unlikely]] {
            abandon();
        }
    }

    semaphore* from_;
    std::ptrdiff_t wanted_;

private:
    void abandon() noexcept;
    // Stops waiting: those behind it may want no more than is free.
    void leave() noexcept {
        from_->waiters_.remove(*this);
        if (from_->free_ != 0) [[unlikely]] {
            from_->grant_free();
        }
    }
};

class WEIR_MUST_AWAIT permit_operation final : public permit_waiter {
public:
    explicit permit_operation(semaphore& from) noexcept : permit_waiter(set_later(), from) {}

    bool ready() noexcept override { return from_->take(); }
    static bool take(semaphore& from) noexcept { return from.take(); }
    static semaphore::permit result(semaphore& from) noexcept { return semaphore::permit(from); }
};

class WEIR_MUST_AWAIT permits_operation final : public permit_waiter {
public:
    permits_operation(semaphore& from, std::ptrdiff_t count) noexcept
        : permit_waiter(from, count) {}
    permits_operation(permits_operation&&) noexcept = default;

    bool ready() noexcept override { return from_->take(wanted_); }
    semaphore::permits resume() {
        finish();
        return semaphore::permits(*from_, wanted_);
    }
};

}  // namespace detail

inline detail::permit_request semaphore::acquire() noexcept {
    return detail::permit_request(*this);
}
inline detail::permits_operation semaphore::acquire(std::ptrdiff_t count) {
    check_count(count);
    return detail::permits_operation(*this, count);
}

inline void semaphore::give_back() noexcept {
    if (!waiters_.has_waiting()) {
        if (free_ < bound_) {
            ++free_;
        }
        return;
    }
    waiters_.check_thread("semaphore: release");
    if (static_cast<detail::permit_waiter&>(detail::wait_list::at(waiters_.first_waiting()))
            .wanted() == 1) [[likely]] {
        waiters_.grant_first();  // from hand to hand
    } else {
        give_back(1);
    }
}

}  // namespace weir
