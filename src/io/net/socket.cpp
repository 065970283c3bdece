// SPDX-License-Identifier: MIT
// Sockets: options, addresses, connecting.

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/socket.hpp>
#include <weir/time.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string>

namespace weir::io {

namespace detail {

namespace {

template <class Ask>
address asked_address(int fd, const char* what, Ask ask) {
    sockaddr_storage raw{};
    socklen_t size = sizeof raw;
    if (ask(fd, reinterpret_cast<sockaddr*>(&raw), &size) != 0) {
        throw io_error(errno, what);
    }
    return address::from(reinterpret_cast<const sockaddr*>(&raw), size);
}

}  // namespace

address local_address_of(int fd) {
    return asked_address(fd, "local_address", ::getsockname);
}

address remote_address_of(int fd) {
    return asked_address(fd, "remote_address", ::getpeername);
}

void set_int_option(int fd, int level, int name, int value) {
    if (::setsockopt(fd, level, name, &value, sizeof value) != 0) {
        throw io_error(errno, "set_option(" + std::to_string(level) + ", " + std::to_string(name) +
                                  ", " + std::to_string(value) + ")");
    }
}

int int_option(int fd, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    if (::getsockopt(fd, level, name, &value, &size) != 0) {
        throw io_error(errno,
                       "option(" + std::to_string(level) + ", " + std::to_string(name) + ")");
    }
    return value;
}

}  // namespace detail

address socket::local_address() const {
    return detail::local_address_of(fd());
}

address socket::remote_address() const {
    return detail::remote_address_of(fd());
}

int socket::release() {
    return detail::release(own_, "socket");
}

void socket::reset() noexcept {
    const linger at_once{1, 0};
    if (is_open()) {
        ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        // With an operation under way, close() shuts down first, and the peer would see an end:
        // disconnecting sends the reset now.
        sockaddr nobody{};
        nobody.sa_family = AF_UNSPEC;
        ::connect(fd(), &nobody, sizeof nobody);
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

// Where nobody listens, the system may choose the very port that is asked for as ours: the socket
// then answers itself, and keeps a server from listening there.
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

task<socket> connect(address to, address from) {
    if (to.kind() == address::family::none) {
        throw invalid_argument("connect: the address is empty");
    }
    const int fd = ::socket(to.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        throw io_error(errno, "connect to " + to.text());
    }
    detail::owned_descriptor own(new detail::descriptor(fd, true));
    if (from.kind() != address::family::none &&
        ::bind(fd, from.data(), static_cast<socklen_t>(from.size())) != 0) {
        throw io_error(errno, "connect to " + to.text() + " from " + from.text());
    }
    for (;;) {
        detail::connect_operation attempt(own.get(), to);
        const int error = co_await attempt;
        if (error == 0) {
            break;
        }
        if (error != EBUSY || to.kind() != address::family::local) {
            throw io_error(error, "connect to " + to.text());
        }
        // The queue of a Unix listener is full, and nothing tells when it no longer is.
        co_await sleep(std::chrono::milliseconds(1));
    }
    socket made(std::move(own));
    if (is_connected_to_itself(made, to)) {
        made.reset();  // else the port would linger
        throw io_error(ECONNREFUSED, "connect to " + to.text());
    }
    co_return made;
}

}  // namespace weir::io
