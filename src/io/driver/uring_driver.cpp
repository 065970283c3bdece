// SPDX-License-Identifier: MIT
// io_uring. Operations are collected in the submission ring while fibers run, and go to the kernel
// with the system call that waits for completions: one call for many operations. The ring belongs
// to one thread (single issuer) and completions are made ready in that call alone (deferred task
// running), which is where its speed comes from. Kernels that lack either count as having no
// io_uring.
//
// The low bits of user_data say what a completion is for: an operation, a watch of a descriptor
// that somebody else reads, the eventfd that wakes the loop, or nothing (the answer to a
// cancellation, whose effect shows in the operation's own completion).

#include <weir/io/detail/engine.hpp>

#if !WEIR_HAVE_IO_URING

namespace weir::io::detail {
std::unique_ptr<driver> make_uring_driver() {
    return nullptr;
}
}  // namespace weir::io::detail

#else

#include "core/driver/wait_pacing.hpp"
#include "io/driver/ring_driver.hpp"
#include "io/driver/uring_ring.hpp"
#include "io/engine/watch_list.hpp"

#include <weir/error.hpp>
#include <weir/io/detail/descriptor.hpp>
#include <weir/io/detail/io_operation.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace weir::io::detail {

namespace {

constexpr unsigned poll_mask(readiness direction) noexcept {
    return direction == readiness::readable ? POLLIN | POLLRDHUP : POLLOUT;
}

}  // namespace

class ring_engine final : public engine {
public:
    ring_engine(const weir::detail::loop_core& home, uring_ring& ring) noexcept
        : engine(home), ring_(ring) {}

    int bind(descriptor&) noexcept override { return 0; }
    void unbind(descriptor&) noexcept override {}
    bool does_files() const noexcept override { return true; }

    bool start(io_operation& begun) noexcept override {
        begun.descriptor_->waiting(begun.direction_).push(begun);
        submit(begun);
        return true;
    }

    bool cancel(io_operation& pending) noexcept override {
        // Behind a poll the operation has not begun, and ends with the poll.
        const completion first =
            pending.is_behind_poll_ ? completion::nothing : completion::operation;
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_cancel64(&entry, uring_ring::tag(&pending, first), 0);
        entry.user_data = uring_ring::tag(nullptr, completion::nothing);
        return false;
    }

    void completed(io_operation& done, const io_uring_cqe& with) noexcept {
        ring_.operation_ended();
        done.is_behind_poll_ = false;
        if (with.res == -EAGAIN && !done.is_cancelling_ && done.can_be_awaited()) {
            await_readiness(done);
            return;
        }
        // A call that would wait, or was interrupted, has done nothing.
        const bool has_run = with.res != -EINTR && (with.res != -EAGAIN || !done.can_be_awaited());
        const bool is_through = has_run && done.take(with.res);
        if (!is_through && !done.is_cancelling_) {
            submit(done);
            return;
        }
        if (!is_through) {
            done.result_ = -ECANCELED;
        }
        done.finish();
    }

private:
    void submit(io_operation& begun) noexcept {
        io_uring_sqe& entry = ring_.next_entry();
        begun.prepare(entry);
        entry.user_data = uring_ring::tag(&begun, completion::operation);
        ring_.operation_began();
    }

    // A descriptor that was made non-blocking elsewhere answers at once instead of waiting: a poll
    // linked before the operation waits for it.
    void await_readiness(io_operation& begun) noexcept {
        ring_.make_room(2);  // a link does not reach from one submission into the next
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_poll_add(&entry, begun.descriptor_->fd(), poll_mask(begun.direction_));
        entry.flags |= IOSQE_IO_LINK;
        entry.user_data = uring_ring::tag(&begun, completion::nothing);
        begun.is_behind_poll_ = true;
        submit(begun);
    }

    uring_ring& ring_;
};

namespace {

class uring_driver final : public ring_driver {
public:
    uring_driver(uring_ring&& opened, int event) noexcept
        : ring_(std::move(opened)), event_(event) {}
    ~uring_driver() override {
        ring_.close();
        ::close(event_);
        if (guest_event_ >= 0) {
            ::close(guest_event_);
        }
    }

    const char* name() const noexcept override { return "uring"; }
    bool has_sources() const noexcept override { return ring_.has_work(); }
    bool wakes_from_signals() const noexcept override { return true; }
    // The ring's own descriptor does not tell of deferred work: an eventfd does, at a price that
    // only guests pay.
    int fd() const noexcept override {
        if (guest_event_ < 0) {
            guest_event_ = ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);  // 1: the first poll is due
        }
        return guest_event_;
    }
    std::int64_t now() noexcept override { return weir::detail::monotonic_nanoseconds(); }

    engine* make_engine(const weir::detail::loop_core& home) override {
        engine_ = new ring_engine(home, ring_);
        return engine_;
    }

    void wait(std::int64_t deadline) override {
        if (ring_.moves_to_this_thread()) {
            is_wake_armed_ = false;
            is_guest_told_ = false;
        }
        if (guest_event_ >= 0) [[unlikely]] {
            serve_guest();
        }
        if (!is_wake_armed_) {
            arm_wake();
        }
        const std::int64_t pause = pacing_.pause_until(deadline);
        ring_.enter(pause);
        const bool is_idle = ring_.for_each_completion(
            [this](const io_uring_cqe& each) noexcept { dispatch(each); });
        if (is_idle && pause > 0) {
            pacing_.timer_woke();
        }
        if (guest_event_ >= 0 && ring_.has_events()) [[unlikely]] {
            signal(guest_event_);  // the kernel did not do all at once
        }
    }

    void wake() noexcept override { signal(event_); }

    void watch(int fd, readiness direction, fd_watch& watcher) override {
        if (watches_.has(fd, direction)) {
            throw invalid_state("a task waits for this direction of file descriptor " +
                                std::to_string(fd) + " already");
        }
        if (const int error = why_not_watchable(fd); error != 0) {
            throw std::system_error(error, std::system_category(), "watch");
        }
        watch_entry& added = watches_.add(watcher, fd, direction);
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_poll_add(&entry, fd, poll_mask(direction));
        entry.user_data = uring_ring::tag(&added, completion::watch);
        ring_.operation_began();
    }

    bool unwatch(int fd, readiness direction) noexcept override {
        if (!watches_.has(fd, direction)) {
            return false;
        }
        watch_entry& forgotten = watches_.forget(fd, direction);
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_cancel64(&entry, uring_ring::tag(&forgotten, completion::watch), 0);
        entry.user_data = uring_ring::tag(nullptr, completion::nothing);
        return true;
    }

    // Sources are for engines that need readiness.
    int attach(int, fd_source&) noexcept override { return ENOTSUP; }
    void detach(int, fd_source&) noexcept override {}

private:
    void arm_wake() noexcept {
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_poll_multishot(&entry, event_, POLLIN);
        entry.user_data = uring_ring::tag(nullptr, completion::wake);
        is_wake_armed_ = true;
    }

    void dispatch(const io_uring_cqe& each) noexcept {
        switch (uring_ring::kind_of(each)) {
            case completion::operation:
                engine_->completed(*static_cast<io_operation*>(uring_ring::target_of(each)), each);
                break;
            case completion::watch:
                watch_ended(*static_cast<watch_entry*>(uring_ring::target_of(each)));
                break;
            case completion::wake:
                woken(each);
                break;
            case completion::nothing:
                break;
        }
    }

    void watch_ended(watch_entry& ended) noexcept {
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

    void serve_guest() {
        if (!is_guest_told_) {
            ring_.signal_completions(guest_event_);
            is_guest_told_ = true;
        }
        clear(guest_event_);
    }

    void woken(const io_uring_cqe& by) noexcept {
        clear(event_);
        if ((by.flags & IORING_CQE_F_MORE) == 0) {
            is_wake_armed_ = false;
        }
    }

    uring_ring ring_;
    int event_;
    mutable int guest_event_ = -1;  // while there is no guest
    bool is_guest_told_ = false;
    bool is_wake_armed_ = false;
    ring_engine* engine_ = nullptr;
    weir::detail::wait_pacing pacing_;
    watch_list watches_;
};

}  // namespace

std::unique_ptr<driver> make_uring_driver() {
    uring_ring opened;
    if (!opened.open()) {
        return nullptr;
    }
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) {
        throw std::system_error(errno, std::system_category(), "eventfd");
    }
    return std::make_unique<uring_driver>(std::move(opened), event);
}

}  // namespace weir::io::detail

#endif
