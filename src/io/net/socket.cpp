// SPDX-License-Identifier: MIT
// Sockets and their operations: each operation is a system call that never blocks and never raises
// SIGPIPE, and the same call as an entry for io_uring.

#include "io/engine/uring_entries.hpp"
#include "io/net/socket_calls.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/socket.hpp>
#include <weir/time.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

namespace weir::io {

namespace detail {

namespace {

int result_of(ssize_t returned) noexcept {
    return returned < 0 ? -errno : static_cast<int>(returned);
}

}  // namespace

int read_operation::attempt() noexcept {
    return result_of(::recv(target()->fd(), into_.data(), std::min(into_.size(), most_per_transfer),
                            MSG_DONTWAIT));
}

bool read_operation::has_drained(int result) const noexcept {
    return result > 0 &&
           static_cast<std::size_t>(result) < std::min(into_.size(), most_per_transfer);
}

void read_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::receive(entry, target()->fd(), into_.data(), std::min(into_.size(), most_per_transfer));
}

std::size_t fill_parts(std::span<iovec> into, std::span<const bytes> parts,
                       std::size_t& room) noexcept {
    std::size_t count = 0;
    for (const bytes part : parts) {
        const std::size_t size = std::min(part.size(), most_per_transfer - room);
        if (size != 0 && count < into.size()) {
            into[count++] = {part.data(), size};
            room += size;
        }
    }
    return count;
}

read_parts_operation::read_parts_operation(descriptor* target,
                                           std::span<const bytes> parts) noexcept
    : io_operation(target, io_event::readable) {
    message_.msg_iovlen = fill_parts(parts_, parts, room_);
}

read_parts_operation::read_parts_operation(read_parts_operation&& unawaited) noexcept
    : io_operation(std::move(unawaited)),
      room_(unawaited.room_),
      parts_(unawaited.parts_),
      message_(unawaited.message_) {}

int read_parts_operation::attempt() noexcept {
    message_.msg_iov = parts_.data();
    return result_of(::recvmsg(target()->fd(), &message_, MSG_DONTWAIT));
}

void read_parts_operation::shorten() noexcept {
    parts_[0].iov_len = room_ = 1;
    message_.msg_iovlen = 1;
}

bool read_parts_operation::has_drained(int count) const noexcept {
    return count > 0 && static_cast<std::size_t>(count) < room_;
}

void read_parts_operation::prepare(io_uring_sqe& entry) noexcept {
    message_.msg_iov = parts_.data();
    uring::receive_message(entry, target()->fd(), message_);
}

// The other ends, POLLHUP and POLLERR, are always reported.
short poll_operation::events() const noexcept {
    return is_for_end_ ? POLLRDHUP : POLLIN | POLLRDHUP;
}

int poll_operation::attempt() noexcept {
    pollfd state{target()->fd(), events(), 0};
    const int count = ::poll(&state, 1, 0);
    return count == 0 ? -EAGAIN : result_of(count);
}

void poll_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::poll(entry, target()->fd(), static_cast<unsigned>(events()));
}

int write_operation::attempt() noexcept {
    return result_of(::send(target()->fd(), left_.data(), std::min(left_.size(), most_per_transfer),
                            MSG_DONTWAIT | MSG_NOSIGNAL));
}

void write_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::send(entry, target()->fd(), left_.data(), std::min(left_.size(), most_per_transfer));
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
    next_ = batch_;
    return count_ > 0;
}

const msghdr& write_parts_operation::message() noexcept {
    std::size_t total = 0;
    std::size_t count = 0;
    while (count < count_ && total + next_[count].iov_len <= most_per_transfer) {
        total += next_[count++].iov_len;
    }
    if (count == 0) {
        beginning_ = {next_->iov_base, most_per_transfer};
    }
    message_.msg_iov = count == 0 ? &beginning_ : next_;
    message_.msg_iovlen = count == 0 ? 1 : count;
    return message_;
}

int write_parts_operation::attempt() noexcept {
    return result_of(::sendmsg(target()->fd(), &message(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

void write_parts_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::send_message(entry, target()->fd(), message());
}

bool write_parts_operation::take(int result) noexcept {
    if (result < 0) {
        result_ = result;
        return true;
    }
    auto sent = static_cast<std::size_t>(result);
    while (count_ > 0 && sent >= next_->iov_len) {
        sent -= next_->iov_len;
        ++next_;
        --count_;
    }
    if (count_ > 0) {
        next_->iov_base = static_cast<std::byte*>(next_->iov_base) + sent;
        next_->iov_len -= sent;
    }
    return !next_batch();
}

bool close_write_operation::ready() noexcept {
    if (target() == nullptr) {
        result_ = -EBADF;
    } else if (::shutdown(target()->fd(), SHUT_WR) != 0) {
        result_ = -errno;
    }
    return true;
}

// A second connect() reports the outcome of the first.
int connect_operation::attempt() noexcept {
    const int result =
        result_of(::connect(target()->fd(), peer_.data(), static_cast<socklen_t>(peer_.size())));
    weir::detail::charge(cost_of_connection);
    switch (result) {
        case -EAGAIN:
            return -EBUSY;  // a Unix listener's queue is full: no event reports room
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
    uring::connect(entry, target()->fd(), peer_.data(), peer_.size());
}

}  // namespace detail

address socket::local_address() const {
    return detail::local_address_of(fd());
}

address socket::remote_address() const {
    return detail::remote_address_of(fd());
}

closure socket::peer_closure() const noexcept {
    pollfd state{fd(), POLLRDHUP, 0};
    if (is_open() && ::poll(&state, 1, 0) <= 0) {
        return closure::none;
    }
    return is_open() && (state.revents & (POLLHUP | POLLERR)) == 0 ? closure::sending
                                                                   : closure::both;
}

int socket::release() {
    return detail::release(own_, "socket");
}

void socket::reset() noexcept {
    const linger at_once{1, 0};
    if (is_open()) {
        ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        // With an operation in flight, close() shuts down first and the peer would see an end:
        // disconnecting sends the reset now.
        sockaddr unspecified{};
        unspecified.sa_family = AF_UNSPEC;
        ::connect(fd(), &unspecified, sizeof unspecified);
    }
    close();
}

void socket::set_option(int level, int name, int value) {
    detail::set_int_option(fd(), level, name, value);
}

int socket::option(int level, int name) const {
    return detail::int_option(fd(), level, name);
}

void socket::set_no_delay(bool on) {
    if (option(SOL_SOCKET, SO_DOMAIN) != AF_UNIX) {
        set_option(IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
    }
}
void socket::set_keep_alive(bool on) {
    set_option(SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0);
}
void socket::set_send_buffer(int size) {
    set_option(SOL_SOCKET, SO_SNDBUF, size);
}
void socket::set_receive_buffer(int size) {
    set_option(SOL_SOCKET, SO_RCVBUF, size);
}

namespace {

// If no process listens on a local port, the system may choose that same port for our end: the
// socket is then connected to itself, and keeps a server from listening there.
bool is_connected_to_itself(const socket& connected, const address& to) {
    if (!to.is_ip()) {
        return false;
    }
    const address local = connected.local_address();
    return local.port() == to.port() && local == connected.remote_address();
}

}  // namespace

task<socket> connect(address to) {
    return connect(to, address());
}

task<result<socket>> connect(address to, as_result_form form) {
    return connect(to, address(), form);
}

task<socket> connect(address to, address from) {
    result<socket> made = co_await connect(to, from, as_result);
    if (!made) {
        const int error = made.error().value();
        const bool is_of_origin =
            from.kind() != address::family::none && (error == EADDRINUSE || error == EADDRNOTAVAIL);
        throw io_error(error, "connect to " + to.text() +
                                  (is_of_origin ? " from " + from.text() : std::string()));
    }
    co_return std::move(*made);
}

task<result<socket>> connect(address to, address from, as_result_form) {
    auto failed = [](int error) { return result<socket>::from_error(error, "connect"); };
    if (to.kind() == address::family::none) {
        throw invalid_argument("connect: the address is empty");
    }
    const int fd = ::socket(to.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        co_return failed(errno);
    }
    detail::owned_descriptor own(new detail::descriptor(fd, true));
    if (from.kind() != address::family::none &&
        ::bind(fd, from.data(), static_cast<socklen_t>(from.size())) != 0) {
        co_return failed(errno);
    }
    for (;;) {
        detail::connect_operation attempt(own.get(), to);
        const int error = co_await attempt;
        if (error == 0) {
            break;
        }
        if (error != EBUSY || to.kind() != address::family::local) {
            co_return failed(error);
        }
        // The queue of a Unix listener is full, and no event reports when it has room.
        co_await sleep(std::chrono::milliseconds(1));
    }
    socket made(std::move(own));
    if (is_connected_to_itself(made, to)) {
        made.reset();  // a plain close would leave the port in TIME_WAIT
        co_return failed(ECONNREFUSED);
    }
    co_return result<socket>(std::move(made));
}

}  // namespace weir::io
