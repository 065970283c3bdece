// SPDX-License-Identifier: MIT
// A datagram is one message with one part. recvmsg and sendmsg report the sender and truncation, on
// both drivers.

#include "io/engine/uring_entries.hpp"
#include "io/net/socket_calls.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/socket.hpp>
#include <weir/io/udp.hpp>

#include <netinet/in.h>

#include <cerrno>
#include <cstring>

namespace weir::io::detail {

msghdr& receive_operation::message() noexcept {
    piece_ = {into_.data(), into_.size()};
    message_ = {};
    message_.msg_name = &sender_;
    message_.msg_namelen = sizeof sender_;
    message_.msg_iov = &piece_;
    message_.msg_iovlen = 1;
    return message_;
}

int receive_operation::attempt() noexcept {
    const ssize_t count = ::recvmsg(target()->fd(), &message(), MSG_DONTWAIT);
    return count < 0 ? -errno : static_cast<int>(count);
}

void receive_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::receive_message(entry, target()->fd(), message());
}

udp::datagram receive_operation::received(int count) const {
    udp::datagram got;
    got.size = static_cast<std::size_t>(count);
    got.sender =
        address::from(reinterpret_cast<const sockaddr*>(&sender_), message_.msg_namelen).unmapped();
    got.truncated = (message_.msg_flags & MSG_TRUNC) != 0;
    return got;
}

result<udp::datagram> receive_operation::returned() const {
    const int count = unthrown();
    return count >= 0 ? result<udp::datagram>(received(count))
                      : result<udp::datagram>::from_error(-count, name());
}

result<> send_operation::returned() const {
    const int error = unthrown();
    return error >= 0 ? result<>() : result<>::from_error(-error, name());
}

const msghdr& send_operation::message() noexcept {
    piece_ = {const_cast<std::byte*>(data_.data()), data_.size()};
    message_ = {};
    if (to_.kind() != address::family::none) {
        message_.msg_name = const_cast<sockaddr*>(to_.data());
        message_.msg_namelen = static_cast<socklen_t>(to_.size());
    }
    message_.msg_iov = &piece_;
    message_.msg_iovlen = 1;
    return message_;
}

int send_operation::attempt() noexcept {
    const ssize_t count = ::sendmsg(target()->fd(), &message(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return count < 0 ? -errno : static_cast<int>(count);
}

void send_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::send_message(entry, target()->fd(), message());
}

std::string send_operation::attempted() const {
    return to_.kind() == address::family::none ? io_operation::attempted()
                                               : "send to " + to_.text();
}

}  // namespace weir::io::detail

namespace weir::udp {

namespace {

void check(const char* what, const io::address& at, const socket_options& options) {
    if (!at.is_ip()) {
        throw invalid_argument(std::string("udp::") + what + ": '" + at.text() +
                               "' is not an IP address");
    }
    if (options.send_buffer < 0 || options.receive_buffer < 0) {
        throw invalid_argument(std::string("udp::socket_options: ") +
                               (options.send_buffer < 0 ? "send_buffer" : "receive_buffer") +
                               " is negative; it is a number of bytes, or 0");
    }
}

socket make(io::address& like, const socket_options& options, const std::string& attempt) {
    const int fd = io::detail::open_socket(like, SOCK_DGRAM, options.only_v6);
    if (fd < 0) {
        throw io_error(errno, attempt);
    }
    socket made(fd);
    const auto set_if = [&](bool wanted, int level, int name, int value) {
        if (wanted) {
            made.set_option(level, name, value);
        }
    };
    set_if(options.broadcast, SOL_SOCKET, SO_BROADCAST, 1);
    set_if(options.reuse_address, SOL_SOCKET, SO_REUSEADDR, 1);
    set_if(options.reuse_port, SOL_SOCKET, SO_REUSEPORT, 1);
    set_if(options.send_buffer > 0, SOL_SOCKET, SO_SNDBUF, options.send_buffer);
    set_if(options.receive_buffer > 0, SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
    set_if(like.kind() == io::address::family::ipv6, IPPROTO_IPV6, IPV6_V6ONLY,
           options.only_v6 ? 1 : 0);
    return made;
}

void change_membership(int fd, const io::address& group, unsigned interface, bool is_join) {
    int result = -1;
    errno = EINVAL;
    if (group.kind() == io::address::family::ipv4) {
        sockaddr_in raw{};
        std::memcpy(&raw, group.data(), sizeof raw);
        ip_mreqn membership{raw.sin_addr, {}, static_cast<int>(interface)};
        result = ::setsockopt(fd, IPPROTO_IP, is_join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
                              &membership, sizeof membership);
    } else if (group.kind() == io::address::family::ipv6) {
        sockaddr_in6 raw{};
        std::memcpy(&raw, group.data(), sizeof raw);
        ipv6_mreq membership{raw.sin6_addr, interface};
        result = ::setsockopt(fd, IPPROTO_IPV6, is_join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP,
                              &membership, sizeof membership);
    }
    if (result != 0) {
        throw io_error(errno, std::string(is_join ? "join " : "leave ") + group.text());
    }
}

}  // namespace

void socket::connect(const io::address& peer) {
    if (::connect(fd(), peer.data(), static_cast<socklen_t>(peer.size())) != 0) {
        throw io_error(errno, "connect to " + peer.text());
    }
}

void socket::join(const io::address& group, unsigned interface) {
    change_membership(fd(), group, interface, true);
}
void socket::leave(const io::address& group, unsigned interface) {
    change_membership(fd(), group, interface, false);
}

bool socket::is_v6() const {
    return option(SOL_SOCKET, SO_DOMAIN) == AF_INET6;
}
void socket::set_multicast_hops(int hops) {
    is_v6() ? set_option(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops)
            : set_option(IPPROTO_IP, IP_MULTICAST_TTL, hops);
}
void socket::set_multicast_loop(bool on) {
    is_v6() ? set_option(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, on ? 1 : 0)
            : set_option(IPPROTO_IP, IP_MULTICAST_LOOP, on ? 1 : 0);
}
void socket::set_broadcast(bool on) {
    set_option(SOL_SOCKET, SO_BROADCAST, on ? 1 : 0);
}

void socket::set_option(int level, int name, int value) {
    io::detail::set_int_option(fd(), level, name, value);
}
int socket::option(int level, int name) const {
    return io::detail::int_option(fd(), level, name);
}
int socket::release() {
    return io::detail::release(own_, "socket");
}
io::address socket::local_address() const {
    return io::detail::local_address_of(fd());
}
io::address socket::remote_address() const {
    return io::detail::remote_address_of(fd());
}

socket bind(const io::address& wanted, const socket_options& options) {
    check("bind", wanted, options);
    io::address at = wanted;
    socket made = make(at, options, "bind to " + at.text());
    if (::bind(made.fd(), at.data(), static_cast<socklen_t>(at.size())) != 0) {
        throw io_error(errno, "bind to " + at.text());
    }
    return made;
}

socket connect(const io::address& peer, const socket_options& options) {
    check("connect", peer, options);
    io::address to = peer;
    socket made = make(to, options, "connect to " + to.text());
    made.connect(to);
    return made;
}

}  // namespace weir::udp
