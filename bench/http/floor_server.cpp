// SPDX-License-Identifier: MIT
//
// The floor of suite http's servers: what the system calls cost, and how much the load generator
// can drive at most. It finds where a request ends, and sends the same bytes for every one.
#include "../io/bare.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <string>

namespace {

const std::string answer =
    "HTTP/1.1 200 OK\r\nServer: floor\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    "Content-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";

struct connection {
    int socket;
    std::size_t filled = 0;
    char buffer[4096] = {};
};

// All requests that are complete; false when the peer is gone.
bool serve(connection& c) {
    const ssize_t count = recv(c.socket, c.buffer + c.filled, sizeof c.buffer - c.filled, 0);
    if (count <= 0) return count < 0 && errno == EAGAIN;
    c.filled += static_cast<std::size_t>(count);
    std::string_view left(c.buffer, c.filled);
    for (std::size_t end; (end = left.find("\r\n\r\n")) != left.npos; left.remove_prefix(end + 4)) {
        const ssize_t sent = send(c.socket, answer.data(), answer.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(answer.size())) return false;
    }
    std::memmove(c.buffer, left.data(), left.size());
    c.filled = left.size();
    return c.filled < sizeof c.buffer;
}

void accept_all(int epoll, int listener) {
    for (;;) {
        const int socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) return;
        bare::no_delay(socket);
        auto* c = new connection{.socket = socket};
        epoll_event event{.events = EPOLLIN, .data = {.ptr = c}};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) bare::fail("epoll_ctl");
    }
}

}  // namespace

int main() {
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
            } else if (!serve(*c)) {
                close(c->socket);
                delete c;
            }
        }
    }
}
