// SPDX-License-Identifier: MIT
// Thin wrappers of socket, getsockname, getpeername, setsockopt and getsockopt.

#include "io/net/socket_calls.hpp"

#include <weir/io/error.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace weir::io::detail {

namespace {

template <class Query>
address query_address(int fd, const char* name, Query query) {
    sockaddr_storage raw{};
    socklen_t size = sizeof raw;
    if (query(fd, reinterpret_cast<sockaddr*>(&raw), &size) != 0) {
        throw io_error(errno, name);
    }
    return address::from(reinterpret_cast<const sockaddr*>(&raw), size).unmapped();
}

}  // namespace

int open_socket(address& at, int type, bool only_v6) noexcept {
    const auto open = [&] {
        return ::socket(at.data()->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    };
    int fd = open();
    const bool is_for_all = at.is_any() && at.kind() == address::family::ipv6 && !only_v6;
    if (fd < 0 && errno == EAFNOSUPPORT && is_for_all) {
        at = address::any(at.port());
        fd = open();
    }
    return fd;
}

address local_address_of(int fd) {
    return query_address(fd, "local_address", ::getsockname);
}

address remote_address_of(int fd) {
    return query_address(fd, "remote_address", ::getpeername);
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

}  // namespace weir::io::detail
