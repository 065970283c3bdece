// SPDX-License-Identifier: MIT
// The io_uring driver. Operations are collected in the submission ring while fibers run, and go to
// the kernel with the system call that waits for completions: one call for many operations. The
// ring belongs to one thread (single issuer), and completions become ready only inside that call
// (deferred task running); that is where its speed comes from. A kernel that lacks either feature
// counts as having no io_uring.
//
// The low bits of user_data are the kind of a completion: an operation (see uring_engine.cpp), a
// watch of a foreign descriptor, the eventfd that wakes the loop, or nothing (the answer to a
// cancellation, whose effect shows in the operation's own completion).

#include <weir/io/uring.hpp>

#if !WEIR_HAVE_IO_URING

namespace weir::io {
std::unique_ptr<driver> make_uring_driver() {
    return nullptr;
}
}  // namespace weir::io

#else

#include "base/wait_pacing.hpp"
#include "io/engine/uring_engine.hpp"
#include "io/engine/uring_ring.hpp"
#include "io/engine/uring_watches.hpp"

#include <weir/error.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

namespace weir::io {

namespace detail {

namespace {

class uring_driver final : public completion_driver {
public:
    uring_driver(uring_ring&& opened, int event) noexcept
        : ring_(std::move(opened)), event_(event) {}
    ~uring_driver() override {
        ring_.close();
        ::close(event_);
        if (const int guest = guest_event_; guest >= 0) {
            ::close(guest);
        }
    }

    const char* name() const noexcept override { return "uring"; }
    bool has_sources() const noexcept override { return ring_.has_work(); }
    bool has_unsubmitted() const noexcept override { return ring_.has_unsubmitted(); }
    bool wakes_from_signals() const noexcept override { return true; }
    // For guest mode. The ring's own descriptor does not report deferred work; an eventfd does, at
    // a cost that only guest loops pay.
    int fd() const noexcept override {
        if (guest_event_ < 0) {
            guest_event_ = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);  // 1: the first poll is due
        }
        return guest_event_;
    }
    std::int64_t now() noexcept override { return weir::detail::monotonic_nanoseconds(); }

    engine* make_engine(const weir::detail::loop_core& home) override {
        engine_ = new uring_engine(home, ring_);
        return engine_;
    }

    void wait(std::int64_t deadline) override {
        if (ring_.moves_to_this_thread()) {
            is_wake_armed_ = false;
        }
        const int guest_event = guest_event_.load(std::memory_order_relaxed);
        if (guest_event >= 0 && (ring_.has_work() || is_wake_armed_)) [[unlikely]] {
            // Registered anew for each wait: an event that another eventfd's write brings about is
            // reported by newer kernels (6.18) once in a registration, and then never again.
            ring_.signal_completions(guest_event);
        }
        const std::int64_t pause = pacing_.pause_until(deadline);
        if (!is_wake_armed_ && (pause != 0 || guest_event < 0)) {
            arm_wake();  // not for a guest, whose host waits for the other eventfd
        }
        ring_.enter(pause);
        const bool is_idle = ring_.for_each_completion(
            [this](const io_uring_cqe& each) noexcept { dispatch(each); });
        if (is_idle && pause > 0) {
            pacing_.timer_woke();
        }
        if (guest_event >= 0) [[unlikely]] {
            clear(guest_event);
            if (ring_.has_events()) {
                signal(guest_event);  // the kernel has more completions to deliver
            }
        }
    }

    void wake() noexcept override {
        signal(event_);
        // Directly, since the kernel's detour over the ring may take milliseconds.
        if (const int guest_event = guest_event_; guest_event >= 0) [[unlikely]] {
            signal(guest_event);
        }
    }

    void watch(int fd, readiness direction, fd_watch& watcher) override {
        if (watches_.has(fd, direction)) {
            throw invalid_state("a task waits for this direction of file descriptor " +
                                std::to_string(fd) + " already");
        }
        if (const int error = watch_error(fd); error != 0) {
            throw std::system_error(error, std::system_category(), "watch");
        }
        uring_watch& added = watches_.add(watcher, fd, direction);
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_poll_add(&entry, fd, poll_mask(direction));
        entry.user_data = uring_ring::tag(&added, completion::watch);
        ring_.operation_began();
    }

    bool unwatch(int fd, readiness direction) noexcept override {
        if (!watches_.has(fd, direction)) {
            return false;
        }
        ring_.cancel(uring_ring::tag(&watches_.forget(fd, direction), completion::watch));
        return true;
    }

    // Sources are for epoll_engine.
    int attach(int, fd_source&) noexcept override { return ENOTSUP; }
    void detach(int, fd_source&) noexcept override {}
    void report_again(int, fd_source&) noexcept override {}

private:
    void arm_wake() noexcept {
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_poll_multishot(&entry, event_, POLLIN);
        entry.user_data = uring_ring::tag(nullptr, completion::wake);
        is_wake_armed_ = true;
    }

    void dispatch(const io_uring_cqe& received) noexcept {
        void* const target = uring_ring::target_of(received);
        switch (uring_ring::kind_of(received)) {
            case completion::operation:
                engine_->completed(*static_cast<io_operation*>(target), received);
                break;
            case completion::watch:
                watch_ended(*static_cast<uring_watch*>(target));
                break;
            case completion::wake:
                woken(received);
                break;
            case completion::nothing:
                break;
        }
    }

    void watch_ended(uring_watch& ended) noexcept {
        ring_.operation_ended();
        if (fd_watch* const watcher = watches_.remove(ended)) {
            watcher->fd_ready();
        }
    }

    static void signal(int event) noexcept {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto put = ::write(event, &one, sizeof one);
    }
    static void clear(int event) noexcept {
        std::uint64_t ignored = 0;
        [[maybe_unused]] const auto got = ::read(event, &ignored, sizeof ignored);
    }

    void woken(const io_uring_cqe& received) noexcept {
        clear(event_);
        if ((received.flags & IORING_CQE_F_MORE) == 0) {
            is_wake_armed_ = false;
        }
    }

    uring_ring ring_;
    int event_;
    mutable std::atomic<int> guest_event_{-1};  // -1 until fd() is called
    bool is_wake_armed_ = false;
    uring_engine* engine_ = nullptr;
    weir::detail::wait_pacing pacing_;
    uring_watches watches_;
};

}  // namespace

}  // namespace detail

std::unique_ptr<driver> make_uring_driver() {
    detail::uring_ring opened;
    if (!opened.open()) {
        return nullptr;
    }
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) {
        throw std::system_error(errno, std::system_category(), "eventfd");
    }
    return std::make_unique<detail::uring_driver>(std::move(opened), event);
}

}  // namespace weir::io

#endif
