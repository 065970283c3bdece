// SPDX-License-Identifier: MIT
// The sockets that libcurl uses: it asks for each, and gives most of them back to be closed. Not
// all: an attempt to connect that is given up is closed by libcurl without a word.

#include "http/curl/curl_multi.hpp"

#include <weir/io/address.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weir::http::detail {

namespace {

// Numbers of descriptors are used again, cookies are not.
std::uint64_t cookie_of(int fd) noexcept {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size);
    return cookie;
}

std::uint16_t port_of(int fd) noexcept {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
    return io::address::from(reinterpret_cast<const sockaddr*>(&name), size).port();
}

}  // namespace

curl_socket_t curl_multi::own_socket(const curl_sockaddr& wanted) noexcept {
    const int fd =
        ::socket(wanted.family, wanted.socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, wanted.protocol);
    if (fd < 0) {
        return CURL_SOCKET_BAD;
    }
    try {
        watched_socket& entry = this->socket(fd);
        forget_watches(entry);
        entry.cookie = cookie_of(fd);
        ports_[static_cast<std::size_t>(fd)] = 0;
        has_new_ports_ = true;
        note_change(entry);
    } catch (...) {
        ::close(fd);
        return CURL_SOCKET_BAD;
    }
    ++opened_;
    return fd;
}

// An attempt to connect that is given up is closed by libcurl without a word, and its number may be
// used again at once: by the next attempt, which libcurl then takes to be watched already.
void curl_multi::forget_watches(watched_socket& of) noexcept {
    of.ready = 0;
    for (direction* each : {&of.reading, &of.writing}) {
        if (std::exchange(each->is_watched, false)) {
            driver_->unwatch(of.fd,
                             each == &of.reading ? readiness::readable : readiness::writable);
        }
    }
}

std::size_t curl_multi::open_sockets() const noexcept {
    std::size_t count = 0;
    for (const auto& each : sockets_) {
        count +=
            each != nullptr && each->cookie != 0 && each->cookie == cookie_of(each->fd) ? 1 : 0;
    }
    return count;
}

int curl_multi::close_socket(void* self, curl_socket_t fd) noexcept {
    auto& owner = *static_cast<curl_multi*>(self);
    watched_socket& gone = *owner.sockets_[static_cast<std::size_t>(fd)];
    gone.reading.is_wanted = gone.writing.is_wanted = false;
    gone.cookie = 0;
    owner.ports_[static_cast<std::size_t>(fd)] = 0;
    owner.forget_watches(gone);
    return ::close(fd);
}

bool curl_multi::is_readable(int local_port) noexcept {
    if (std::exchange(has_new_ports_, false)) {
        for (std::size_t fd = 0; fd < ports_.size(); ++fd) {
            if (ports_[fd] == 0 && sockets_[fd] != nullptr && sockets_[fd]->cookie != 0) {
                ports_[fd] = port_of(static_cast<int>(fd));
                has_new_ports_ = has_new_ports_ || ports_[fd] == 0;
            }
        }
    }
    for (auto at = ports_.begin(); (at = std::find(at, ports_.end(), local_port)) != ports_.end();
         ++at) {
        char first = 0;
        if (::recv(static_cast<int>(at - ports_.begin()), &first, 1, MSG_PEEK | MSG_DONTWAIT) >=
                0 ||
            errno != EAGAIN) {
            return true;
        }
    }
    return false;
}

curl_multi::watched_socket& curl_multi::socket(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= sockets_.size()) {
        ports_.resize(index + 1);
        sockets_.resize(index + 1);
    }
    if (sockets_[index] == nullptr) {
        auto made = std::make_unique<watched_socket>();
        made->owner = this;
        made->fd = fd;
        made->reading.of = made->writing.of = made.get();
        // The lists never allocate later: each has room for every socket.
        changed_.reserve(2 * sockets_.size());
        ready_.reserve(2 * sockets_.size());
        sockets_[index] = std::move(made);
    }
    return *sockets_[index];
}

}  // namespace weir::http::detail
