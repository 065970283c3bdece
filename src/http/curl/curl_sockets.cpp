// SPDX-License-Identifier: MIT
// libcurl asks for each socket, and gives most of them back to be closed. Not all: a connection
// attempt that libcurl gives up is closed without notice, so a descriptor may come back while its
// entry still counts as watched. The kernel's socket cookie tells whether a descriptor is still the
// socket that was opened.
//
// A request on a kept connection makes libcurl wait for its socket, and stop waiting when the
// response has arrived. Watches are updated only when libcurl has returned; a watch that has fired
// is disarmed already. So such a request arms one watch and disarms none.

#include "http/curl/curl_sockets.hpp"

#include "http/curl/curl_multi.hpp"

#include <weir/io/address.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weir::http::detail {

namespace {

// Descriptors are used again, cookies are not.
std::uint64_t cookie_of(int fd) noexcept {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size);
    return cookie;
}

std::uint16_t local_port_of(int fd) noexcept {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
    return io::address::from(reinterpret_cast<const sockaddr*>(&name), size).port();
}

bool has_input(int fd) noexcept {
    char first = 0;
    return ::recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

}  // namespace

void curl_sockets::unbind() noexcept {
    ready_.clear();
    ports_.clear();
    entries_.clear();
    driver_ = nullptr;
}

curl_socket_t curl_sockets::open(const curl_sockaddr& address) noexcept {
    const int fd =
        ::socket(address.family, address.socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.protocol);
    if (fd < 0) {
        return CURL_SOCKET_BAD;
    }
    try {
        entry& opened = entry_of(fd);
        forget_watches(opened);
        opened.cookie = cookie_of(fd);
        ports_[static_cast<std::size_t>(fd)] = 0;
        has_unknown_ports_ = true;
        note_change(opened);
    } catch (...) {
        ::close(fd);
        return CURL_SOCKET_BAD;
    }
    ++opened_;
    return fd;
}

int curl_sockets::close(int fd) noexcept {
    const auto index = static_cast<std::size_t>(fd);
    entry& gone = *entries_[index];
    gone.reading.is_wanted = gone.writing.is_wanted = false;
    gone.cookie = 0;
    ports_[index] = 0;
    forget_watches(gone);
    return ::close(fd);
}

void curl_sockets::set_interest(int fd, bool readable, bool writable) {
    entry& socket = entry_of(fd);
    socket.reading.is_wanted = readable;
    socket.writing.is_wanted = writable;
    note_change(socket);
}

void curl_sockets::learn_ports() noexcept {
    if (!std::exchange(has_unknown_ports_, false)) {
        return;
    }
    for (std::size_t fd = 0; fd < ports_.size(); ++fd) {
        if (ports_[fd] == 0 && entries_[fd] != nullptr && entries_[fd]->cookie != 0) {
            ports_[fd] = local_port_of(static_cast<int>(fd));
            has_unknown_ports_ = has_unknown_ports_ || ports_[fd] == 0;
        }
    }
}

bool curl_sockets::is_readable(int local_port) noexcept {
    learn_ports();
    for (auto at = ports_.begin(); (at = std::find(at, ports_.end(), local_port)) != ports_.end();
         ++at) {
        if (has_input(static_cast<int>(at - ports_.begin()))) {
            return true;
        }
    }
    return false;
}

clock::time_point curl_sockets::last_readable(int local_port) noexcept {
    learn_ports();
    clock::time_point last{};
    for (std::size_t fd = 0; fd < ports_.size(); ++fd) {
        if (ports_[fd] == local_port && entries_[fd] != nullptr) {
            last = std::max(last, entries_[fd]->readable_at);
        }
    }
    return last;
}

void curl_sockets::update_watches() noexcept {
    for (entry* const each : changed_) {
        each->is_change_listed = false;
        update_watch(*each, readiness::readable, each->reading);
        update_watch(*each, readiness::writable, each->writing);
    }
    changed_.clear();
}

void curl_sockets::update_watch(entry& socket, readiness which, direction& watched) noexcept {
    if (watched.is_watched && !watched.is_wanted) {
        driver_->unwatch(socket.fd, which);
        watched.is_watched = false;
    } else if (watched.is_wanted && !watched.is_watched) {
        try {
            driver_->watch(socket.fd, which, watched);
            watched.is_watched = true;
        } catch (...) {
            // It cannot be watched: libcurl finds out why when it uses the socket.
            watched.fd_ready();
        }
    }
}

void curl_sockets::direction::fd_ready() noexcept {
    is_watched = false;
    curl_sockets& owner = *socket->owner;
    if (!socket->is_ready_listed) {
        socket->is_ready_listed = true;
        owner.ready_.push_back(socket);
    }
    socket->ready |= this == &socket->reading ? CURL_CSELECT_IN : CURL_CSELECT_OUT;
    owner.owner_.socket_ready();
}

// Sockets that become ready meanwhile wait for the next call.
void curl_sockets::dispatch_ready(CURLM* multi, clock::time_point now) noexcept {
    const std::size_t count = ready_.size();
    int running = 0;
    for (std::size_t i = 0; i < count; ++i) {
        entry& each = *ready_[i];
        each.is_ready_listed = false;
        const int events = std::exchange(each.ready, 0);
        if (events == 0) {
            continue;  // closed since
        }
        if ((events & CURL_CSELECT_IN) != 0) {
            each.readable_at = now;
        }
        note_change(each);
        curl_multi_socket_action(multi, each.fd, events, &running);
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(count));
}

std::size_t curl_sockets::count_open() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(), [](const auto& each) {
            return each != nullptr && each->cookie != 0 && each->cookie == cookie_of(each->fd);
        }));
}

void curl_sockets::note_change(entry& changed) noexcept {
    if (!changed.is_change_listed) {
        changed.is_change_listed = true;
        changed_.push_back(&changed);
    }
}

// libcurl takes a descriptor that comes back for one that is watched already.
void curl_sockets::forget_watches(entry& socket) noexcept {
    socket.ready = 0;
    for (direction* const each : {&socket.reading, &socket.writing}) {
        if (std::exchange(each->is_watched, false)) {
            driver_->unwatch(socket.fd,
                             each == &socket.reading ? readiness::readable : readiness::writable);
        }
    }
}

curl_sockets::entry& curl_sockets::entry_of(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= entries_.size()) {
        ports_.resize(index + 1);
        entries_.resize(index + 1);
    }
    if (entries_[index] == nullptr) {
        auto added = std::make_unique<entry>();
        added->owner = this;
        added->fd = fd;
        added->reading.socket = added->writing.socket = added.get();
        // The lists never allocate later: each has room for every socket.
        changed_.reserve(2 * entries_.size());
        ready_.reserve(2 * entries_.size());
        entries_[index] = std::move(added);
    }
    return *entries_[index];
}

}  // namespace weir::http::detail
