// SPDX-License-Identifier: MIT
//
// The load of the echo workloads: on each connection one message is under way at a time, and what
// comes back is compared with what was sent.
#pragma once

#include "ring_client.hpp"

namespace load {

inline constexpr std::size_t echo_message_size = 64;

class echo_client : public ring_client<echo_client, 2 * echo_message_size> {
public:
    static constexpr std::size_t message_size = echo_message_size;

    echo_client(std::uint16_t port, unsigned connections)
        : ring_client(port, connections), connections_(connections) {
        for (unsigned i = 0; i < connections; ++i)
            next(i);
    }

    void arrived(unsigned index, const char* data, std::size_t size) {
        connection& c = connections_[index];
        bench::require(c.arrived + size <= message_size, "more came back than was sent");
        bench::require(std::memcmp(c.message + c.arrived, data, size) == 0, "another echo");
        c.arrived += size;
        if (c.arrived < message_size) return;
        count_one();
        next(index);
    }

private:
    struct connection {
        unsigned char pattern = 0;
        std::size_t arrived = 0;
        char message[message_size];
    };

    void next(unsigned index) {
        connection& c = connections_[index];
        c.arrived = 0;
        std::memset(c.message, ++c.pattern, message_size);
        send(index, c.message, message_size);
    }

    std::vector<connection> connections_;
};

}  // namespace load
