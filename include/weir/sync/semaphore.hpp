// SPDX-License-Identifier: MIT
// semaphore and bounded_semaphore: so many at a time, in the order of asking.
//
//     auto permit = co_await slots.acquire();   // given back when it goes out of scope
//
// A limit on concurrency, not on rate. A permit that comes back goes to the fiber that has waited
// longest. None overtakes: as long as a fiber that was handed a permit has not resumed, newcomers
// wait behind it, even if more permits are free; when it resumes, they get those. A fiber that is
// stopped while it waits leaves the line; one that is stopped after a permit was handed to it
// passes the permit on. Belongs to one loop; made before there is one if need be. If it is
// destroyed while fibers wait, they throw invalid_state.
#pragma once

#include <weir/base/wait_list.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace weir {

class semaphore;

namespace detail {

class permit_operation;

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

    // Throws invalid_argument if the number is negative; zero is a semaphore that starts empty.
    explicit semaphore(std::ptrdiff_t permits)
        : semaphore(permits, std::numeric_limits<std::ptrdiff_t>::max()) {}
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;
    ~semaphore() { waiters_.orphan(); }

    // co_await acquire(): waits for its turn, and gives a permit.
    inline detail::permit_operation acquire() noexcept;
    // An empty result if acquire() would wait.
    std::optional<permit> try_acquire() noexcept {
        if (!take()) {
            return std::nullopt;
        }
        return permit(*this);
    }
    // Adds permits: those of detached ones, or new ones. Throws invalid_argument if the number is
    // negative, and invalid_state, changing nothing, if a bounded semaphore would hold more than it
    // started with.
    void release(std::ptrdiff_t permits = 1);

    // Free permits.
    std::ptrdiff_t value() const noexcept { return free_; }
    // Would an acquire() wait? Also with free permits, while others are before it.
    bool locked() const noexcept { return free_ == 0 || !waiters_.is_empty(); }

protected:
    semaphore(std::ptrdiff_t permits, std::ptrdiff_t bound);

private:
    friend class detail::permit_operation;

    bool take() noexcept {
        if (locked()) {
            return false;
        }
        --free_;
        return true;
    }
    // An operation that was granted a permit has gone on, or was stopped: those that queued up
    // behind it get what is free.
    void remove_granted(detail::listed_operation& gone) noexcept {
        waiters_.remove_granted(gone);
        if (free_ != 0) [[unlikely]] {
            grant_free();
        }
    }
    void grant_free() noexcept;
    // Capped, since it serves destructors: too many releases elsewhere do not lift the bound.
    void give_back() noexcept {
        waiters_.check_thread("semaphore: release");
        if (waiters_.has_waiting()) {
            waiters_.grant_first();
        } else if (free_ < bound_) {
            ++free_;
        }
    }

    // None waits while a permit is free, except behind operations that were granted one.
    detail::wait_list waiters_;
    std::ptrdiff_t free_;
    std::ptrdiff_t bound_;
};

// Never holds more permits than it started with: a release too many is an error.
class bounded_semaphore : public semaphore {
public:
    explicit bounded_semaphore(std::ptrdiff_t permits) : semaphore(permits, permits) {}
};

namespace detail {

class WEIR_MUST_AWAIT permit_operation final : public listed_operation {
public:
    explicit permit_operation(semaphore& from) noexcept : from_(&from) {}
    permit_operation(permit_operation&&) noexcept = default;
    ~permit_operation() {
        if (state_ != wait_state::idle) [[unlikely]] {
            abandon();
        }
    }

    bool ready() noexcept override { return from_->take(); }
    bool start() noexcept override { return from_->waiters_.enter(*this); }
    bool cancel() noexcept override {
        from_->waiters_.remove(*this);
        state_ = wait_state::idle;
        return true;
    }
    const char* name() const noexcept override { return "semaphore.acquire"; }
    semaphore::permit resume() {
        if (state_ != wait_state::idle) {
            if (state_ != wait_state::granted) [[unlikely]] {
                throw_wait_error(std::exchange(state_, wait_state::idle), "semaphore");
            }
            state_ = wait_state::idle;
            from_->remove_granted(*this);
        }
        return semaphore::permit(*from_);
    }

private:
    void abandon() noexcept;

    semaphore* from_;
};

}  // namespace detail

inline detail::permit_operation semaphore::acquire() noexcept {
    return detail::permit_operation(*this);
}

}  // namespace weir
