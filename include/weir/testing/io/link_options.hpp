// SPDX-License-Identifier: MIT
// What a simulated link does to the bytes that pass it.
#pragma once

#include <weir/clock.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::testing {

// Both directions are alike. Chances are between 0 and 1 and are drawn from the network's seed.
struct link_options {
    clock::duration latency{};  // one way
    clock::duration jitter{};   // up to so much more for each segment; their order is kept
    double bandwidth = 0;       // bytes a second each way, for all connections together; 0: any
    std::size_t window =
        64 << 10;                // sent and not yet read, per connection and way: then writes wait
    std::size_t segment = 1460;  // the largest piece that travels in one
    double short_reads = 0;      // chance that a read gives less than is there
    double splits = 0;           // chance that a segment is shorter than it could be
    double stalls = 0;           // chance that a segment is held back, by up to `stall`
    clock::duration stall = std::chrono::seconds(1);
    double resets = 0;              // chance that a segment resets the connection instead
    std::uint64_t reset_after = 0;  // so many bytes, then the connection is reset; 0: never
    double refusals = 0;            // chance that a connect is refused
    double silences = 0;            // chance that a connect is never answered

    // Some of these faults, at some strength: another network for each seed. Nothing that loses
    // bytes or connections; set resets, refusals and silences yourself where the code must survive
    // them.
    static link_options drawn_from(std::uint64_t seed);
};

struct network_options {
    link_options link{};     // between hosts for which nothing else is set
    std::uint64_t seed = 0;  // 0: the seed of the test's schedule, and the loop's next fresh_seed()
    // How long a connect goes on without an answer, and sent bytes without being taken, before they
    // fail with 'Connection timed out'. As Linux does by default.
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
    std::uint64_t bytes_lost = 0;  // with resets, or because nobody was there to read them
    std::size_t open = 0;          // connections with an end that is not closed
};

}  // namespace weir::testing
