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
    // No client resets, floods or leaves early, and the first clients finish first: a server that
    // can hold only some of them at a time has to serve all, too.
    bool in_good_order = false;
};

// Connects in waves. Of each wave some connections talk and check the echo, others leave at once,
// reset before or in the middle of an answer, close their half and read to the end, flood the
// server without ever reading, or send no data at all. After each wave a fresh connection has to be
// served: the server is not stuck. Returns 0, or describes the failure on stderr and returns 1.
pid_t start_client(const client_plan& plan);

}  // namespace stress
