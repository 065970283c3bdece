// SPDX-License-Identifier: MIT
// Plain blocking sockets with a time limit on each call. All connections of a wave are opened, then
// all send their data, then all end in random order: so the server has many unfinished ones at any
// time, though the client works sequentially.

#include "hostile_client.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace stress {
namespace {

enum class fate { talks, half_closes, idles, leaves, resets, resets_mid_answer, floods };

struct connection {
    int socket = -1;
    fate ends = fate::talks;
    std::string said;
};

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "client: %s: %s\n", what, std::strerror(errno));
    std::_Exit(1);
}

// From another address each wave: ports that wait out the end of a connection are not in the way.
int open_connection(std::uint16_t port, unsigned wave, bool with_little_memory = false) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) {
        give_up("socket");
    }
    const timeval patience{30, 0};
    ::setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (with_little_memory) {
        const int little = 16 * 1024;
        ::setsockopt(made, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
        ::setsockopt(made, SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    }
    const int late = 1;
    ::setsockopt(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + wave % 200);
    if (::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        give_up("bind");
    }
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        give_up("connect");
    }
    return made;
}

void say(connection& one, std::size_t size, unsigned char first) {
    one.said.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
        one.said[i] = static_cast<char>(first + i * 7);
    }
    if (::send(one.socket, one.said.data(), size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
        give_up("send");
    }
}

void hear_echo(const connection& one) {
    std::string heard(one.said.size(), '\0');
    std::size_t got = 0;
    while (got < heard.size()) {
        const ssize_t count = ::recv(one.socket, heard.data() + got, heard.size() - got, 0);
        if (count <= 0) {
            give_up(count == 0 ? "the server closed before it had answered" : "recv");
        }
        got += static_cast<std::size_t>(count);
    }
    if (heard != one.said) {
        give_up("the echo differs from what was said");
    }
}

void hear_end(const connection& one) {
    char more = 0;
    if (::recv(one.socket, &more, 1, 0) != 0) {
        give_up("no end of the stream after the last byte");
    }
}

void flood(const connection& one) {
    const std::string much(64 * 1024, 'f');
    for (int i = 0; i < 16; ++i) {
        if (::send(one.socket, much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) {
            return;  // both directions are full
        }
    }
}

void reset(const connection& one) {
    const linger at_once{1, 0};
    ::setsockopt(one.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(one.socket);
}

class client {
public:
    explicit client(const client_plan& plan) : plan_(plan), random_(plan.seed) {}

    void run() {
        for (unsigned i = 0; i < plan_.waves; ++i) {
            wave(i);
            probe(i);
        }
    }

private:
    std::size_t draw(std::size_t below) { return random_() % below; }

    fate draw_fate() {
        if (plan_.in_good_order) {
            return fate::talks;
        }
        static constexpr fate fates[] = {fate::talks,  fate::talks,  fate::talks,
                                         fate::talks,  fate::idles,  fate::half_closes,
                                         fate::leaves, fate::resets, fate::resets_mid_answer};
        // Few floods: each takes a good deal of the kernel's memory.
        return draw(128) == 0 ? fate::floods : fates[draw(std::size(fates))];
    }

    void wave(unsigned number) {
        std::vector<connection> open(plan_.connections);
        for (connection& each : open) {
            each.ends = draw_fate();
            each.socket = open_connection(plan_.port, number, each.ends == fate::floods);
        }
        shuffle(open);
        for (connection& each : open) {
            begin(each);
        }
        shuffle(open);
        for (connection& each : open) {
            finish(each);
        }
    }

    void shuffle(std::vector<connection>& open) {
        if (!plan_.in_good_order) {
            std::shuffle(open.begin(), open.end(), random_);
        }
    }

    void begin(connection& one) {
        switch (one.ends) {
            case fate::talks:
            case fate::half_closes:
            case fate::resets_mid_answer:
                say_something(one);
                break;
            case fate::floods:
                flood(one);
                break;
            case fate::idles:
            case fate::leaves:
            case fate::resets:
                break;
        }
    }

    void finish(connection& one) {
        switch (one.ends) {
            case fate::talks:
                hear_echo(one);
                for (std::size_t more = draw(3); more > 0; --more) {
                    say_something(one);
                    hear_echo(one);
                }
                break;
            case fate::half_closes:
                ::shutdown(one.socket, SHUT_WR);
                hear_echo(one);
                hear_end(one);
                break;
            case fate::idles:
            case fate::leaves:
                break;
            case fate::resets:
            case fate::resets_mid_answer:
            case fate::floods:
                reset(one);
                return;
        }
        ::close(one.socket);
    }

    void say_something(connection& one) {
        say(one, 1 + draw(draw(8) == 0 ? 8192 : 256), static_cast<unsigned char>(draw(256)));
    }

    void probe(unsigned wave) {
        connection one{open_connection(plan_.port, wave), fate::talks, {}};
        say_something(one);
        hear_echo(one);
        ::close(one.socket);
    }

    client_plan plan_;
    std::minstd_rand random_;
};

}  // namespace

pid_t start_client(const client_plan& plan) {
    const pid_t child = ::fork();
    if (child != 0) {
        return child;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close_range(3, ~0U, 0);  // the descriptors of the server's loop are not ours
    client(plan).run();
    std::_Exit(0);
}

}  // namespace stress
