// SPDX-License-Identifier: MIT
// The protocol: the successor connects and gets one byte, 'L' with the descriptor or 'N' for 'not
// yet'. It keeps the connection open and sends 'R' when it accepts; a successor that fails before
// that leaves the old service accepting as before.

#include "program/serve/handover.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/time.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace weir::program {

namespace {

using namespace std::chrono_literals;

constexpr char with_listener = 'L';
constexpr char not_yet = 'N';
constexpr char successor_ready = 'R';

// An abstract Unix socket: it has no file, and its name is free when the process ends.
io::address offer_name(const io::address& at) {
    constexpr std::size_t longest = 80;
    std::string text = at.text();
    if (text.size() > longest) {
        text = std::to_string(std::hash<std::string>()(text));
    }
    return io::address::local("@weir.listener." + std::to_string(::geteuid()) + "." + text);
}

// Abstract names have no permissions, so each side checks who the other is.
bool is_same_user(int peer) noexcept {
    ucred found{};
    socklen_t size = sizeof found;
    return ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &found, &size) == 0 &&
           found.uid == ::geteuid();
}

union ancillary {
    cmsghdr header;
    std::array<char, CMSG_SPACE(sizeof(int))> space;
};

// The message is one byte, and the socket's buffer is empty: it is sent at once.
bool send_descriptor(int peer, int descriptor) noexcept {
    char byte = with_listener;
    iovec data{&byte, 1};
    ancillary control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.space.data();
    message.msg_controllen = control.space.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return ::sendmsg(peer, &message, MSG_NOSIGNAL) == 1;
}

// -1 if the message has none.
int receive_descriptor(int peer) noexcept {
    char byte = 0;
    iovec data{&byte, 1};
    ancillary control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.space.data();
    message.msg_controllen = control.space.size();
    if (::recvmsg(peer, &message, MSG_CMSG_CLOEXEC) != 1 || byte != with_listener) {
        return -1;
    }
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof(int))) {
        return -1;
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

bool is_listening(int descriptor) noexcept {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

io::listener adopt(int descriptor) {
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return io::listener(descriptor);
}

void close_descriptor(int& descriptor) noexcept {
    if (descriptor >= 0) {
        ::close(descriptor);
        descriptor = -1;
    }
}

}  // namespace

handover_offer::handover_offer(const io::listener& listener)
    : name_(offer_name(listener.local_address())),
      listener_(::fcntl(listener.fd(), F_DUPFD_CLOEXEC, 0)) {}

void handover_offer::close() noexcept {
    close_descriptor(listener_);
}

task<> handover_offer::serve(tcp::serve_control& control) {
    // While the service that was here before still runs, it has the name.
    std::optional<io::listener> offers;
    while (!offers) {
        try {
            offers = io::listen(name_);
        } catch (const io_error&) {
        }
        if (!offers) {
            co_await sleep(100ms);
        }
    }
    const auto handler = [this, &control](io::socket peer, tcp::session&) {
        return answer(std::move(peer), control);
    };
    co_await tcp::serve(std::move(*offers), handler, {.max_connections = 4, .drain_deadline = {}});
}

task<> handover_offer::answer(io::socket peer, tcp::serve_control& control) const {
    if (!is_same_user(peer.fd())) {
        co_return;
    }
    if (!is_allowed_ || listener_ < 0) {
        co_await peer.write(std::string_view(&not_yet, 1));
        co_return;
    }
    if (!send_descriptor(peer.fd(), listener_)) {
        co_return;
    }
    std::array<char, 1> answered{};
    const std::size_t count = co_await peer.read(answered);
    if (count == 1 && answered[0] == successor_ready) {
        control.stop_accepting();
    }
}

takeover::~takeover() {
    close_descriptor(peer_);
}

takeover::reply takeover::ask(const io::address& name, int& listener) {
    close_descriptor(peer_);
    peer_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{.tv_sec = 1, .tv_usec = 0};
    if (peer_ < 0 || ::setsockopt(peer_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
        ::connect(peer_, name.data(), static_cast<socklen_t>(name.size())) != 0 ||
        !is_same_user(peer_)) {
        close_descriptor(peer_);
        return reply::none;
    }
    listener = receive_descriptor(peer_);
    if (listener < 0) {
        close_descriptor(peer_);
        return reply::not_yet;
    }
    return reply::taken;
}

task<std::optional<io::listener>> takeover::request(io::address at) {
    constexpr clock::duration patience = 1s;
    const io::address name = offer_name(at);
    const clock::time_point latest = weir::now() + patience;
    for (;;) {
        int descriptor = -1;
        const reply got = ask(name, descriptor);
        if (got == reply::taken && is_listening(descriptor)) {
            co_return adopt(descriptor);
        }
        close_descriptor(descriptor);
        if (got == reply::none || weir::now() >= latest) {
            co_return std::nullopt;
        }
        co_await sleep(20ms);
    }
}

void takeover::ready() noexcept {
    if (peer_ >= 0) {
        static_cast<void>(::send(peer_, &successor_ready, 1, MSG_NOSIGNAL));
        close_descriptor(peer_);
    }
}

std::optional<io::listener> activated_listener() {
    constexpr int first_descriptor = 3;  // by systemd's protocol
    const char* const process = std::getenv("LISTEN_PID");
    const char* const count = std::getenv("LISTEN_FDS");
    if (process == nullptr || count == nullptr || std::to_string(::getpid()) != process) {
        return std::nullopt;
    }
    const bool is_one = std::string_view(count) == "1" && is_listening(first_descriptor);
    for (const char* const each : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
        ::unsetenv(each);
    }
    if (!is_one) {
        throw invalid_argument(
            "LISTEN_FDS: systemd must pass one listening stream socket: one ListenStream= in the "
            "socket unit");
    }
    return adopt(first_descriptor);
}

}  // namespace weir::program
