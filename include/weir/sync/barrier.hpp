// SPDX-License-Identifier: MIT
// barrier: a number of fibers wait until all have come.
//
//     const std::size_t place = co_await barrier.wait();   // 0 to parties - 1, in the order they
//     came
//
// The last to come releases the others and does not wait. The barrier is ready for the next round
// when all of them have gone on; a fiber that comes before that counts for the next round. A fiber
// that is stopped while it waits leaves: the barrier is not broken, and another must come in its
// place. Belongs to one loop; made before there is one if need be. If it is destroyed while fibers
// wait, they throw invalid_state; released fibers have passed.
#pragma once

#include <weir/base/wait_list.hpp>

#include <cstddef>
#include <stdexcept>

namespace weir {

// abort() or reset() was called while a fiber waited, or abort() before.
class broken_barrier : public std::runtime_error {
public:
    broken_barrier() : std::runtime_error("the barrier is broken") {}
};

class barrier;

namespace detail {

class WEIR_MUST_AWAIT barrier_operation final : public listed_operation {
public:
    explicit barrier_operation(barrier& awaited) noexcept : barrier_(&awaited) {}
    barrier_operation(barrier_operation&&) noexcept = default;
    ~barrier_operation();

    bool ready() noexcept override;
    bool start() noexcept override;
    bool cancel() noexcept override;
    const char* name() const noexcept override { return "barrier.wait"; }
    std::size_t resume();

private:
    friend class weir::barrier;

    barrier* barrier_;  // null: it was destroyed after the release
    std::size_t place_ = 0;
};

}  // namespace detail

class barrier {
public:
    // Throws invalid_argument if there is not one party at least.
    explicit barrier(std::ptrdiff_t parties);
    barrier(const barrier&) = delete;
    barrier& operator=(const barrier&) = delete;
    ~barrier();

    // co_await wait(): the place in the round. Throws broken_barrier.
    detail::barrier_operation wait() noexcept { return detail::barrier_operation(*this); }

    // Every fiber that waits, or was released and has not gone on yet, gets broken_barrier; the
    // barrier is then as new. Does nothing when no fiber waits, except that a broken barrier is
    // whole again.
    void reset();
    // The same, but the barrier stays broken until reset(): fibers that came early for the next
    // round, or come later, get broken_barrier too.
    void abort();

    std::size_t parties() const noexcept { return parties_; }
    // Fibers that wait for the rest of the round; 0 while the fibers of a complete round resume.
    std::size_t waiting() const noexcept { return leaving_ > 0 ? 0 : arrived_; }
    bool broken() const noexcept { return is_broken_; }

private:
    friend class detail::barrier_operation;

    void release(std::size_t count) noexcept;
    void one_left() noexcept;

    detail::wait_list waiters_;  // in front those of a complete round that have not gone on yet
    std::size_t parties_;
    std::size_t arrived_ = 0;  // waiting fibers
    std::size_t leaving_ = 0;  // released fibers
    bool is_broken_ = false;
};

}  // namespace weir
