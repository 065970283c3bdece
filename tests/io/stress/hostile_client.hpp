// SPDX-License-Identifier: MIT
// Clients that behave as badly as the network lets them, in a process of their own: the limit of
// descriptors counts per process, and a client that hangs shows in its exit status.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace stress {

struct client_plan {
    std::uint16_t port = 0;
    unsigned connections = 0;  // open at the same time
    unsigned waves = 1;
    std::uint64_t seed = 1;
    // Nobody resets, floods or leaves early, and those who came first are done first: also a server
    // that can hold only some of them at a time has to get through.
    bool in_good_order = false;
};

// Connects in waves. Of each wave some connections talk and check the echo, others leave at once,
// reset before or in the middle of an answer, close their half and read to the end, flood the
// server without ever reading, or say nothing at all. After each wave a fresh connection has to be
// served: the server is not stuck. Ends with 0, or says on stderr what went wrong and ends with 1.
pid_t start_client(const client_plan& plan);

}  // namespace stress
