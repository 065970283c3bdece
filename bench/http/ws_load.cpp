// SPDX-License-Identifier: MIT
//
// The audience of suite http's broadcasts, the same for every participant: a bare epoll client with
// many WebSocket connections. The first of them sends N messages of 100 bytes at once, which the
// server has to give to all; the time runs until every connection has all of them, each checked.
// Then the next N.
//
//   bench_ws_load PORT CLIENTS MESSAGES WARM_UP_SECONDS SECONDS
#include "../io/connecting.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t payload = 100;
constexpr std::size_t frame = 2 + payload;

struct connection {
    int socket = -1;
    unsigned received = 0;  // messages of this round
    std::size_t kept = 0;   // bytes of a frame that has not come in full
    char part[frame];
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

void shake_hands(int socket) {
    const std::string request =
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    if (send(socket, request.data(), request.size(), MSG_NOSIGNAL) < 0) fail("handshake: send");
    std::string answer;
    while (answer.find("\r\n\r\n") == answer.npos) {
        char one;  // byte by byte, to leave what follows where it is
        if (recv(socket, &one, 1, 0) != 1) fail("handshake: " + answer);
        answer += one;
    }
    if (answer.find(" 101 ") == answer.npos ||
        answer.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == answer.npos)
        fail("handshake: " + answer);
}

// A text frame of a client, masked with zeroes.
std::string masked_frame(const char* number) {
    std::string bytes{'\x81', static_cast<char>(0x80 | payload), 0, 0, 0, 0};
    bytes += number;
    return bytes + std::string(payload - 8, 'x');
}

class audience {
public:
    audience(std::uint16_t port, unsigned clients, unsigned messages)
        : epoll_(epoll_create1(EPOLL_CLOEXEC)), connections_(clients), expected_(messages) {
        for (unsigned i = 0; i < messages; ++i) {
            std::snprintf(expected_[i].data(), expected_[i].size(), "%08u", i);
            said_ += masked_frame(expected_[i].data());
        }
        for (connection& each : connections_) {
            each.socket = load::connect_to(port);
            shake_hands(each.socket);
            fcntl(each.socket, F_SETFL, O_NONBLOCK);
            epoll_event event{.events = EPOLLIN, .data = {.ptr = &each}};
            epoll_ctl(epoll_, EPOLL_CTL_ADD, each.socket, &event);
        }
    }

    // Until all have everything; the number of deliveries.
    std::uint64_t round() {
        const auto messages = static_cast<unsigned>(expected_.size());
        std::size_t waiting = connections_.size();
        for (connection& each : connections_)
            each.received = 0;
        // 21 KB, which a socket's buffer holds.
        const ssize_t sent = send(connections_[0].socket, said_.data(), said_.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(said_.size())) fail("send");
        while (waiting > 0) {
            epoll_event events[512];
            const int count = epoll_wait(epoll_, events, 512, 10'000);
            if (count == 0) fail("nothing came for 10 s");
            for (int i = 0; i < count; ++i) {
                auto& c = *static_cast<connection*>(events[i].data.ptr);
                const bool was_waiting = c.received < messages;
                receive(c);
                waiting -= was_waiting && c.received == messages ? 1 : 0;
            }
        }
        return std::uint64_t{messages} * connections_.size();
    }

private:
    void receive(connection& c) {
        std::memcpy(buffer_, c.part, c.kept);
        const ssize_t count = recv(c.socket, buffer_ + c.kept, sizeof buffer_ - c.kept, 0);
        if (count <= 0) {
            if (count < 0 && errno == EAGAIN) return;
            fail("the server has closed a connection");
        }
        const char* at = buffer_;
        const char* end = buffer_ + c.kept + count;
        for (; end - at >= static_cast<std::ptrdiff_t>(frame); at += frame) {
            if (at[0] != '\x81' || at[1] != static_cast<char>(payload) ||
                c.received == expected_.size() ||
                std::memcmp(at + 2, expected_[c.received].data(), 8) != 0)
                fail("a message is wrong, or none of this round: " + std::string(at, 12));
            ++c.received;
        }
        c.kept = static_cast<std::size_t>(end - at);
        std::memcpy(c.part, at, c.kept);
    }

    std::string said_;
    int epoll_;
    std::vector<connection> connections_;
    std::vector<std::array<char, 12>> expected_;
    char buffer_[64 * 1024];
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) return 64;
    const auto number = [&](int i) { return static_cast<unsigned>(std::atoi(argv[i])); };
    const double warm_up = std::atof(argv[4]) * 1e9;
    const double length = std::atof(argv[5]) * 1e9;
    static audience all(static_cast<std::uint16_t>(number(1)), number(2), number(3));
    const auto now = [] { return bench::clock_ns(CLOCK_MONOTONIC); };
    for (const double began = now(); now() - began < warm_up;)
        all.round();
    std::printf("ready\n");
    std::fflush(stdout);
    const double began = now();
    std::uint64_t deliveries = 0;
    while (now() - began < length)
        deliveries += all.round();
    std::printf("{\"deliveries\": %llu, \"seconds\": %.6f}\n",
                static_cast<unsigned long long>(deliveries), (now() - began) * 1e-9);
    std::fflush(stdout);
    usleep(100'000);  // until its times have been read
}
