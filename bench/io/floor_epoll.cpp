// SPDX-License-Identifier: MIT
//
// The floor of suite io: what a server costs that is nothing but its system calls. Level-triggered
// epoll, each connection registered once, one recv and one send per message.
#include "bare.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace {

struct connection {
    int socket;
    std::uint64_t received = 0;
    char buffer[bare::echo_buffer];
};

// A peer that sends and does not read blocks all others: the bare server does not handle that.
bool send_all(int socket, const char* data, std::size_t size) {
    while (size > 0) {
        const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
        if (sent >= 0) {
            data += sent;
            size -= static_cast<std::size_t>(sent);
        } else if (errno == EAGAIN) {
            pollfd writable{socket, POLLOUT, 0};
            poll(&writable, 1, -1);
        } else {
            return false;
        }
    }
    return true;
}

bool echo(connection& c) {
    const ssize_t count = recv(c.socket, c.buffer, sizeof c.buffer, 0);
    if (count < 0) return errno == EAGAIN;
    return count > 0 && send_all(c.socket, c.buffer, static_cast<std::size_t>(count));
}

bool discard(connection& c) {
    static char buffer[bare::stream_buffer];
    const ssize_t count = recv(c.socket, buffer, sizeof buffer, 0);
    if (count < 0) return errno == EAGAIN;
    c.received += static_cast<std::uint64_t>(count);
    if (count > 0) return true;
    char text[24];
    const int size =
        std::snprintf(text, sizeof text, "%llu\n", static_cast<unsigned long long>(c.received));
    send_all(c.socket, text, static_cast<std::size_t>(size));
    return false;
}

void accept_all(int epoll, int listener) {
    for (;;) {
        const int socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) return;
        bare::no_delay(socket);
        // malloc and not new: the buffer must not be touched before there is something in it.
        auto* c = static_cast<connection*>(std::malloc(sizeof(connection)));
        c->socket = socket;
        c->received = 0;
        epoll_event event{.events = EPOLLIN, .data = {.ptr = c}};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) bare::fail("epoll_ctl");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool streaming = bare::is_stream_server(argc, argv);
    const int listener = bare::listen_and_tell(SOCK_NONBLOCK);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event accepting{.events = EPOLLIN, .data = {.ptr = nullptr}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &accepting) != 0) bare::fail("epoll_ctl");
    for (;;) {
        epoll_event events[256];
        const int count = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < count; ++i) {
            auto* c = static_cast<connection*>(events[i].data.ptr);
            if (c == nullptr) {
                accept_all(epoll, listener);
            } else if (!(streaming ? discard(*c) : echo(*c))) {
                close(c->socket);
                std::free(c);
            }
        }
    }
}
