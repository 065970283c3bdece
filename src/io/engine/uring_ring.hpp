// SPDX-License-Identifier: MIT
// The ring: submission entries, completions, and the system call between them.
#pragma once

#include "base/brief_spin.hpp"

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

namespace weir::io::detail {

// The kind of a completion: the low bits of its user_data, under the pointer.
enum class completion : std::uint64_t { operation, watch, wake, nothing };

class uring_ring {
public:
    uring_ring() noexcept = default;
    uring_ring(uring_ring&& other) noexcept
        : ring_(other.ring_), is_open_(std::exchange(other.is_open_, false)) {}
    uring_ring& operator=(uring_ring&&) = delete;
    ~uring_ring() { close(); }

    // False if the kernel has no io_uring of the kind that is needed, or forbids it.
    bool open() noexcept;
    void close() noexcept;
    // From now on the kernel writes to this eventfd when there are completions to handle. A former
    // registration is replaced.
    void signal_completions(int event);

    // Makes the calling thread the owner of the ring. True if another thread owned it before, or
    // none: the ring is then a new one, and registrations with the old one are lost. Throws
    // loop_error if the kernel has operations in flight, which cannot move to another ring.
    bool moves_to_this_thread();

    // The next `count` entries go to the kernel in one submission.
    void make_room(unsigned count) noexcept;
    // An entry to fill in. It goes to the kernel with the next enter(), or earlier if the ring is
    // full.
    io_uring_sqe& next_entry() noexcept;
    // Cancels the entry with this user_data, whose own completion says whether that had an effect.
    void cancel(std::uint64_t user_data) noexcept;

    // Submits all entries and waits up to `pause` nanoseconds for a completion. -1 waits without
    // limit; 0 makes no system call if there is nothing to do.
    void enter(std::int64_t pause);

    // Does the kernel hold completions that the next enter() will bring?
    bool has_events() const noexcept {
        return (IO_URING_READ_ONCE(*ring_.sq.kflags) &
                (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
    }

    // Calls the handler for each completion. True if there was none.
    template <class Handler>
    bool for_each_completion(Handler&& handle) noexcept {
        unsigned head = 0;
        unsigned count = 0;
        io_uring_cqe* each = nullptr;
        io_uring_for_each_cqe(&ring_, head, each) {
            handle(*each);
            ++count;
        }
        io_uring_cq_advance(&ring_, count);
        return count == 0;
    }

    // Entries that will complete are counted, so that the loop knows whether a poll can bring any.
    void operation_began() noexcept { ++in_flight_; }
    void operation_ended() noexcept { --in_flight_; }
    bool has_work() const noexcept { return in_flight_ > 0 || has_unsubmitted(); }
    bool has_unsubmitted() const noexcept { return io_uring_sq_ready(&ring_) > 0; }

    static std::uint64_t tag(const void* target, completion kind) noexcept {
        return reinterpret_cast<std::uintptr_t>(target) | static_cast<std::uint64_t>(kind);
    }
    static completion kind_of(const io_uring_cqe& received) noexcept {
        return static_cast<completion>(received.user_data & 3);
    }
    static void* target_of(const io_uring_cqe& received) noexcept {
        return reinterpret_cast<void*>(
            static_cast<std::uintptr_t>(received.user_data & ~std::uint64_t{3}));
    }

private:
    // How many of the operations in flight are not submitted yet.
    std::size_t unsubmitted() const noexcept;
    // Makes a new ring for this thread, with the unsubmitted entries of the old one.
    void reopen();
    // Submits, then spins for a moment where a completion is likely to arrive soon.
    bool spin_for_completion(std::int64_t pause) noexcept;

    io_uring ring_{};
    std::size_t in_flight_ = 0;
    std::thread::id owner_{};
    bool is_open_ = false;
    bool signals_completions_ = false;
    weir::detail::brief_spin spin_;
};

}  // namespace weir::io::detail
