// SPDX-License-Identifier: MIT
// The ring itself: entries out, completions in, and the system call between them.
#pragma once

#include "core/driver/brief_spin.hpp"

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

namespace weir::io::detail {

// What a completion is for: the low bits of its user_data, under the pointer.
enum class completion : std::uint64_t { operation, watch, wake, nothing };

class uring_ring {
public:
    uring_ring() noexcept = default;
    uring_ring(uring_ring&& other) noexcept
        : ring_(other.ring_), is_open_(std::exchange(other.is_open_, false)) {}
    uring_ring& operator=(uring_ring&&) = delete;
    ~uring_ring() { close(); }

    // False where the kernel has no io_uring of the kind that we need, or forbids it.
    bool open() noexcept;
    void close() noexcept;
    // An eventfd to be written to when there is something to handle.
    void signal_completions(int event);

    // The ring serves the thread that first waits with it. True if this is another one than before:
    // the ring was made anew, and what had been registered with it is gone. Throws loop_error if
    // the kernel has operations under way, which cannot move.
    bool moves_to_this_thread();

    // The next so many entries go to the kernel together.
    void make_room(unsigned count) noexcept;
    // An entry to be filled; it goes to the kernel with the next enter(), or now if the ring is
    // full.
    io_uring_sqe& next_entry() noexcept;

    // Submits what is there and waits so many nanoseconds for a completion; -1 waits for ever, 0
    // makes no system call where there is nothing to do.
    void enter(std::int64_t pause);

    // Has the kernel something that the next enter() will bring?
    bool has_events() const noexcept {
        return (IO_URING_READ_ONCE(*ring_.sq.kflags) &
                (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
    }

    // True if there was none.
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

    // Everything that completes is counted, so that a loop knows whether a poll can bring anything.
    void operation_began() noexcept { ++under_way_; }
    void operation_ended() noexcept { --under_way_; }
    bool has_work() const noexcept { return under_way_ > 0 || io_uring_sq_ready(&ring_) > 0; }

    static std::uint64_t tag(const void* target, completion kind) noexcept {
        return reinterpret_cast<std::uintptr_t>(target) | static_cast<std::uint64_t>(kind);
    }
    static completion kind_of(const io_uring_cqe& of) noexcept {
        return static_cast<completion>(of.user_data & 3);
    }
    static void* target_of(const io_uring_cqe& of) noexcept {
        return reinterpret_cast<void*>(
            static_cast<std::uintptr_t>(of.user_data & ~std::uint64_t{3}));
    }

private:
    // How many of the operations under way the kernel has not seen yet.
    std::size_t unsubmitted() const noexcept;
    // A ring for this thread, with what the old one had not submitted.
    void open_again();
    // Submits, and waits a moment for a completion without sleeping, where that is likely to pay.
    bool comes_soon(std::int64_t pause) noexcept;

    io_uring ring_{};
    std::size_t under_way_ = 0;
    std::thread::id owner_{};
    bool is_open_ = false;
    weir::detail::brief_spin spin_;
};

}  // namespace weir::io::detail
