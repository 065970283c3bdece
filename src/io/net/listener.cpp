// SPDX-License-Identifier: MIT
// listen() is three system calls and their errors; accepting is an operation like those of sockets.

#include "io/engine/uring_entries.hpp"
#include "io/net/socket_calls.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/io/listener.hpp>

#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weir::io {

namespace detail {

int accept_operation::attempt() noexcept {
    const int accepted = ::accept4(target()->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    weir::detail::charge(cost_of_connection);
    return accepted < 0 ? -errno : accepted;
}

void accept_operation::prepare(io_uring_sqe& entry) noexcept {
    uring::accept(entry, target()->fd());
}

// A connection that its peer ended before it was accepted is skipped.
bool accept_operation::take(int result) noexcept {
    if (result == -ECONNABORTED) {
        return false;
    }
    result_ = result;
    accepted_ = result;
    return true;
}

accept_operation::~accept_operation() {
    if (accepted_ >= 0) {
        ::close(accepted_);
    }
}

}  // namespace detail

namespace {

[[noreturn]] void throw_cannot_listen(const address& at, int error) {
    throw io_error(error, "listen on " + at.text());
}

void set(int fd, int level, int name, bool value, const address& at) {
    const int raw = value ? 1 : 0;
    if (::setsockopt(fd, level, name, &raw, sizeof raw) != 0) {
        throw_cannot_listen(at, errno);
    }
}

// Removes the file of a listener that ended without clean-up: a socket that refuses connections.
void remove_stale_file(const address& at) {
    const std::string path = at.path();
    struct stat about{};
    if (path.front() == '@' || ::lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) {
        return;
    }
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) {
        return;
    }
    const bool is_stale = ::connect(probe, at.data(), static_cast<socklen_t>(at.size())) != 0 &&
                          errno == ECONNREFUSED;
    ::close(probe);
    if (is_stale) {
        ::unlink(path.c_str());
    }
}

}  // namespace

address listener::local_address() const {
    return detail::local_address_of(fd());
}

int listener::release() {
    return detail::release(own_, "listener");
}

listener listen(const address& wanted, const listen_options& options) {
    address at = wanted;
    if (at.kind() == address::family::none) {
        throw invalid_argument("listen: the address is empty");
    }
    if (options.backlog < 1) {
        throw invalid_argument("listen: backlog is " + std::to_string(options.backlog) +
                               "; it must be at least 1");
    }
    const int fd = detail::open_socket(at, SOCK_STREAM, options.only_v6);
    if (fd < 0) {
        throw_cannot_listen(at, errno);
    }
    listener made(fd);
    if (at.kind() == address::family::local) {
        remove_stale_file(at);
    } else {
        set(fd, SOL_SOCKET, SO_REUSEADDR, options.reuse_address, at);
        set(fd, SOL_SOCKET, SO_REUSEPORT, options.reuse_port, at);
    }
    if (at.kind() == address::family::ipv6) {
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.only_v6, at);
    }
    if (::bind(fd, at.data(), static_cast<socklen_t>(at.size())) != 0 ||
        ::listen(fd, options.backlog) != 0) {
        throw_cannot_listen(at, errno);
    }
    return made;
}

}  // namespace weir::io
