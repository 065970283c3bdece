// SPDX-License-Identifier: MIT
//
// What the two bare servers share: their command line, and a listening socket on a port of the
// system's choice, which they print.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace bare {

// As much as each participant reads at once; in the echo server every connection has its own.
inline constexpr std::size_t echo_buffer = 1024;
inline constexpr std::size_t stream_buffer = 64 * 1024;

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

inline bool is_stream_server(int argc, char** argv) {
    const std::string_view kind = argc == 2 ? argv[1] : "";
    if (kind != "echo" && kind != "stream") {
        std::fprintf(stderr, "usage: %s echo|stream\n", argv[0]);
        std::exit(64);
    }
    return kind == "stream";
}

inline int listen_and_tell(int flags) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        fail("listen");
    std::printf("%u\n", ntohs(address.sin_port));
    std::fflush(stdout);
    return listener;
}

inline void no_delay(int socket) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace bare
