// SPDX-License-Identifier: MIT
// Pipes are read and written with plain system calls on either driver; an operation waits only if
// the call would block. A write to a pipe without readers raises SIGPIPE. Before Linux 6.18 no flag
// prevents that on pipes: there the signal is blocked during the call and discarded afterwards.

#include "io/engine/uring_entries.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/pipe.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

namespace weir::io {

namespace detail {

namespace {

// Blocks SIGPIPE for this thread, and discards one that was raised meanwhile.
class sigpipe_held {
public:
    sigpipe_held() noexcept {
        ::sigemptyset(&only_);
        ::sigaddset(&only_, SIGPIPE);
        sigset_t pending;
        ::sigemptyset(&pending);
        ::sigpending(&pending);
        was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
        ::pthread_sigmask(SIG_BLOCK, &only_, &former_);
    }
    sigpipe_held(const sigpipe_held&) = delete;
    sigpipe_held& operator=(const sigpipe_held&) = delete;
    ~sigpipe_held() {
        const timespec no_time{};
        if (!was_pending_) {
            ::sigtimedwait(&only_, nullptr, &no_time);
        }
        ::pthread_sigmask(SIG_SETMASK, &former_, nullptr);
    }

private:
    sigset_t only_;
    sigset_t former_;
    bool was_pending_ = false;
};

int write_quietly(int fd, const iovec* parts, int count) noexcept {
    constexpr int no_signal = 0x100;  // RWF_NOSIGNAL
    static constinit std::atomic<bool> flag_is_known{true};
    if (flag_is_known.load(std::memory_order_relaxed)) {
        const ssize_t written = ::pwritev2(fd, parts, count, -1, no_signal);
        if (written >= 0 || (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)) {
            return written < 0 ? -errno : static_cast<int>(written);
        }
        flag_is_known.store(false, std::memory_order_relaxed);
    }
    const sigpipe_held held;
    const ssize_t written = ::writev(fd, parts, count);
    return written < 0 ? -errno : static_cast<int>(written);
}

}  // namespace

void pipe_operation::prepare(io_uring_sqe& entry) noexcept {
    was_polled_ = true;
    uring::poll(entry, target()->fd(), events());
}

bool pipe_operation::take(int result) noexcept {
    if (std::exchange(was_polled_, false) && result >= 0) {
        do {
            result = attempt();
        } while (result == -EINTR);
        if (result == -EAGAIN) {
            return false;
        }
    }
    return transferred(result);
}

int pipe_read_operation::attempt() noexcept {
    const ssize_t count = ::readv(target()->fd(), parts_.data(), static_cast<int>(count_));
    return count < 0 ? -errno : static_cast<int>(count);
}

unsigned pipe_read_operation::events() const noexcept {
    return POLLIN | POLLRDHUP;
}

bool pipe_write_operation::is_empty() noexcept {
    while (first_.empty() && !rest_.empty()) {
        first_ = rest_.front();
        rest_ = rest_.subspan(1);
    }
    return first_.empty();
}

int pipe_write_operation::attempt() noexcept {
    std::array<iovec, 8> parts;
    std::size_t count = 0;
    std::size_t room = most_per_transfer;
    auto add = [&](const_bytes part) {
        const std::size_t size = std::min(part.size(), room);
        parts[count++] = {const_cast<std::byte*>(part.data()), size};
        room -= size;
    };
    add(first_);
    for (std::size_t next = 0; next < rest_.size() && count < parts.size() && room > 0; ++next) {
        add(rest_[next]);
    }
    return write_quietly(target()->fd(), parts.data(), static_cast<int>(count));
}

unsigned pipe_write_operation::events() const noexcept {
    return POLLOUT;
}

bool pipe_write_operation::transferred(int result) noexcept {
    if (result < 0) {
        result_ = result;
        return true;
    }
    auto written = static_cast<std::size_t>(result);
    while (written > 0) {
        const std::size_t of_first = std::min(written, first_.size());
        first_ = first_.after(of_first);
        written -= of_first;
        is_empty();
    }
    return is_empty();
}

bool pipe_close_operation::ready() noexcept {
    closed_.close();
    return true;
}

owned_descriptor adopt_pipe(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        throw io_error(errno, "take over file descriptor " + std::to_string(fd));
    }
    return owned_descriptor(new descriptor(fd, true));
}

}  // namespace detail

int pipe_reader::release() {
    return detail::release(own_, "pipe");
}

int pipe_writer::release() {
    return detail::release(own_, "pipe");
}

pipe_ends make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        throw io_error(errno, "make a pipe");
    }
    return {pipe_reader(ends[0]), pipe_writer(ends[1])};
}

}  // namespace weir::io
