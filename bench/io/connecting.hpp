// SPDX-License-Identifier: MIT
//
// A client's connection to the server under test.
#pragma once

#include "../harness.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <stdexcept>
#include <string>

namespace load {

inline int connect_to(std::uint16_t port) {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (client < 0 || connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        throw std::system_error(errno, std::system_category(), "connect");
    const int on = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // Overrides the machine's default: BBR, say, would pace a stream through a timer, and measure
    // that.
    setsockopt(client, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    return client;
}

}  // namespace load
