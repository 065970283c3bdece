// SPDX-License-Identifier: MIT
// The system calls of sockets, and the same as io_uring entries. Attempts never block and never
// raise SIGPIPE.

#include "io/driver/uring_entries.hpp"

#include <weir/io/detail/socket_operations.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace weir::io::detail {

namespace {

constexpr std::size_t most_at_once = INT_MAX;  // results are ints

int result_of(ssize_t returned) noexcept {
    return returned < 0 ? -errno : static_cast<int>(returned);
}

}  // namespace

int read_operation::attempt() noexcept {
    return result_of(
        ::recv(on()->fd(), into_.data(), std::min(into_.size(), most_at_once), MSG_DONTWAIT));
}

void read_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::receive(entry, on()->fd(), into_.data(), std::min(into_.size(), most_at_once));
}

int readable_operation::attempt() noexcept {
    pollfd state{on()->fd(), POLLIN | POLLRDHUP, 0};
    const int count = ::poll(&state, 1, 0);
    return count == 0 ? -EAGAIN : result_of(count);
}

void readable_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::poll(entry, on()->fd(), POLLIN | POLLRDHUP);
}

int write_operation::attempt() noexcept {
    return result_of(::send(on()->fd(), left_.data(), std::min(left_.size(), most_at_once),
                            MSG_DONTWAIT | MSG_NOSIGNAL));
}

void write_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::send(entry, on()->fd(), left_.data(), std::min(left_.size(), most_at_once));
}

bool write_operation::take(int result) noexcept {
    if (result < 0) {
        result_ = result;
        return true;
    }
    left_ = left_.after(static_cast<std::size_t>(result));
    return left_.empty();
}

bool write_parts_operation::next_batch() noexcept {
    if (count_ > 0) {
        return true;
    }
    while (!parts_.empty() && count_ < batch_size) {
        const const_bytes part = parts_.front();
        parts_ = parts_.subspan(1);
        if (!part.empty()) {
            batch_[count_++] = {const_cast<std::byte*>(part.data()), part.size()};
        }
    }
    message_.msg_iov = batch_;
    message_.msg_iovlen = count_;
    return count_ > 0;
}

int write_parts_operation::attempt() noexcept {
    return result_of(::sendmsg(on()->fd(), &message_, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void write_parts_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::send_message(entry, on()->fd(), message_);
}

bool write_parts_operation::take(int result) noexcept {
    if (result < 0) {
        result_ = result;
        return true;
    }
    auto sent = static_cast<std::size_t>(result);
    while (count_ > 0 && sent >= message_.msg_iov->iov_len) {
        sent -= message_.msg_iov->iov_len;
        ++message_.msg_iov;
        message_.msg_iovlen = --count_;
    }
    if (count_ > 0) {
        message_.msg_iov->iov_base = static_cast<std::byte*>(message_.msg_iov->iov_base) + sent;
        message_.msg_iov->iov_len -= sent;
    }
    return !next_batch();
}

bool close_write_operation::ready() noexcept {
    if (on() == nullptr) {
        result_ = -EBADF;
    } else if (::shutdown(on()->fd(), SHUT_WR) != 0) {
        result_ = -errno;
    }
    return true;
}

// Asked again, connect() tells how the first call went.
int connect_operation::attempt() noexcept {
    const int result =
        result_of(::connect(on()->fd(), to_.data(), static_cast<socklen_t>(to_.size())));
    switch (result) {
        case -EAGAIN:
            return -EBUSY;  // a Unix listener's queue is full: no event will tell of room
        case -EINPROGRESS:
        case -EALREADY:
            return -EAGAIN;
        case -EISCONN:
            return 0;
        default:
            return result;
    }
}

void connect_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::connect(entry, on()->fd(), to_.data(), to_.size());
}

}  // namespace weir::io::detail
