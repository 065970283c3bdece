// SPDX-License-Identifier: MIT
// The ring is opened disabled, on the thread that makes the loop, and enabled by the thread that
// runs the loop: from then on only that thread may use it.

#if WEIR_HAVE_IO_URING

#include "io/engine/uring_ring.hpp"

#include <weir/error.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weir::io::detail {

namespace {

constexpr unsigned submission_entries = 512;
constexpr unsigned completion_entries = 4096;
constexpr std::int64_t second = 1'000'000'000;

[[noreturn]] void fail(int error, const char* what) {
    throw std::system_error(-error, std::system_category(), what);
}

}  // namespace

bool uring_ring::open() noexcept {
    io_uring_params options{};
    options.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                    IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE |
                    IORING_SETUP_CLAMP;
    options.cq_entries = completion_entries;
    is_open_ = io_uring_queue_init_params(submission_entries, &ring_, &options) == 0;
    return is_open_;
}

void uring_ring::close() noexcept {
    if (std::exchange(is_open_, false)) {
        io_uring_queue_exit(&ring_);
    }
}

bool uring_ring::moves_to_this_thread() {
    const std::thread::id self = std::this_thread::get_id();
    if (owner_ == self) [[likely]] {
        return false;
    }
    if (owner_ != std::thread::id()) {
        if (in_flight_ > unsubmitted()) {
            throw loop_error("a loop with I/O in flight cannot continue on another thread");
        }
        reopen();
    }
    // As a system call: Debian's liburing declares io_uring_enable_rings and does not have it.
    if (::syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr,
                  0) != 0) {
        fail(-errno, "io_uring_register");
    }
    io_uring_register_ring_fd(&ring_);  // saves a look-up in each call; failure is harmless
    owner_ = self;
    return true;
}

void uring_ring::signal_completions(int event) {
    if (std::exchange(signals_completions_, true)) {
        ::syscall(__NR_io_uring_register, ring_.ring_fd, IORING_UNREGISTER_EVENTFD, nullptr, 0);
    }
    if (::syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_EVENTFD, &event, 1) != 0) {
        fail(-errno, "io_uring_register");
    }
}

std::size_t uring_ring::unsubmitted() const noexcept {
    std::size_t count = 0;
    for (unsigned at = ring_.sq.sqe_head; at != ring_.sq.sqe_tail; ++at) {
        const std::uint64_t kind = ring_.sq.sqes[at & *ring_.sq.kring_mask].user_data & 3;
        count += kind == static_cast<std::uint64_t>(completion::operation) ||
                 kind == static_cast<std::uint64_t>(completion::watch);
    }
    return count;
}

void uring_ring::reopen() {
    uring_ring fresh;
    if (!fresh.open()) {
        throw loop_error("io_uring could not be reopened for another thread");
    }
    uring_ring old(std::move(*this));
    ring_ = fresh.ring_;
    signals_completions_ = false;
    is_open_ = std::exchange(fresh.is_open_, false);
    for (unsigned at = old.ring_.sq.sqe_head; at != old.ring_.sq.sqe_tail; ++at) {
        *io_uring_get_sqe(&ring_) = old.ring_.sq.sqes[at & *old.ring_.sq.kring_mask];
    }
}

void uring_ring::make_room(unsigned count) noexcept {
    while (io_uring_sq_space_left(&ring_) < count) [[unlikely]] {
        moves_to_this_thread();  // needed before the loop's first wait
        io_uring_submit(&ring_);
    }
}

io_uring_sqe& uring_ring::next_entry() noexcept {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) [[unlikely]] {
        make_room(1);
        entry = io_uring_get_sqe(&ring_);
    }
    return *entry;
}

void uring_ring::cancel(std::uint64_t user_data) noexcept {
    io_uring_sqe& entry = next_entry();
    io_uring_prep_cancel64(&entry, user_data, 0);
    entry.user_data = tag(nullptr, completion::nothing);
}

bool uring_ring::spin_for_completion(std::int64_t pause) noexcept {
    if (in_flight_ == 0 || !spin_.is_due()) {
        return false;
    }
    if (io_uring_sq_ready(&ring_) > 0) {
        io_uring_submit(&ring_);  // the waiting call reports errors again
    }
    return spin_.until([this] { return has_events() || io_uring_cq_ready(&ring_) > 0; },
                       pause < 0 ? INT64_MAX : pause);
}

void uring_ring::enter(std::int64_t pause) {
    int result = 0;
    if (pause != 0 && spin_for_completion(pause)) {
        pause = 0;
    }
    if (pause == 0) {
        if (has_events()) {
            result = io_uring_submit_and_get_events(&ring_);
        } else if (io_uring_sq_ready(&ring_) > 0) {
            result = io_uring_submit(&ring_);
        }
    } else if (pause < 0) {
        result = io_uring_submit_and_wait(&ring_, 1);
    } else {
        io_uring_cqe* first = nullptr;
        __kernel_timespec limit{pause / second, pause % second};
        result = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
    }
    // EBUSY: the completion ring is full; its completions are handled now.
    if (result < 0 && result != -EINTR && result != -ETIME && result != -EBUSY &&
        result != -EAGAIN) {
        fail(result, "io_uring_enter");
    }
}

}  // namespace weir::io::detail

#endif
