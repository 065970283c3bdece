// SPDX-License-Identifier: MIT
// The properties and faults of a simulated link.
#pragma once

#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::testing {

// The same for both directions. Probabilities are 0 to 1, drawn from the network's seed.
struct link_options {
    clock::duration latency{};  // one way
    clock::duration jitter{};   // up to this much more for each segment; the order is kept
    double bandwidth = 0;       // bytes per second each way, shared by all connections; 0: no limit
    std::size_t window = 64 << 10;  // unread bytes per connection and direction; then writes wait
    std::size_t segment = 1460;     // the largest unit that travels at once
    double short_reads = 0;         // probability that a read returns less than is available
    double splits = 0;              // probability that a segment is shorter than possible
    double stalls = 0;              // probability that a segment is delayed, by up to `stall`
    clock::duration stall = std::chrono::seconds(1);
    double resets = 0;              // probability that a segment resets the connection
    std::uint64_t reset_after = 0;  // resets the connection after this many bytes; 0: never
    double refusals = 0;            // probability that a connect is refused
    double silences = 0;            // probability that a connect is never answered

    // Random faults of random strength: another network for each seed. None that lose bytes or
    // connections; set resets, refusals and silences yourself if the code must survive them.
    static link_options drawn_from(std::uint64_t seed);
};

struct network_options {
    link_options link{};     // between hosts without a link of their own
    std::uint64_t seed = 0;  // 0: the seed of the test's schedule, and the loop's next fresh_seed()
    // How long a connect waits for an answer, and sent bytes for their arrival, before they fail
    // with 'Connection timed out'. The defaults of Linux.
    clock::duration connect_timeout = std::chrono::seconds(127);
    clock::duration give_up_after = std::chrono::seconds(924);
};

struct network_stats {
    std::uint64_t connections = 0;  // established
    std::uint64_t refused = 0;
    std::uint64_t timed_out = 0;  // connects and connections
    std::uint64_t resets = 0;
    std::uint64_t segments = 0;
    std::uint64_t stalls = 0;
    std::uint64_t short_reads = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_lost = 0;  // by resets, or because the receiver was closed
    std::size_t open = 0;          // connections with an end that is not closed
};

}  // namespace weir::testing
