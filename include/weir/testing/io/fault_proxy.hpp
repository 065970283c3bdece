// SPDX-License-Identifier: MIT
// A TCP proxy on loopback that misbehaves on demand: for code whose sockets belong to other
// libraries, which a simulated network cannot reach.
//
//     weir::testing::fault_proxy proxy(server.local_address(), {.latency = 20ms});
//     connect_the_library_to(proxy.address());
//     proxy.set({.half_open = true});        // nothing passes any more, and no end is closed
//     co_await proxy.close();
//
// It runs as tasks of the loop on which it was made, on the real clock; code that blocks the loop's
// thread blocks the proxy too. Bytes pass unchanged and in order; half-closes and resets are passed
// on.
#pragma once

#include <weir/clock.hpp>
#include <weir/handle.hpp>
#include <weir/io/address.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weir::testing {

// For each direction of each connection; changes also affect existing connections.
struct proxy_faults {
    clock::duration latency{};  // from the arrival of bytes to their leaving
    clock::duration jitter{};   // up to this much more
    double bandwidth = 0;       // bytes per second; 0: no limit
    std::size_t drip = 0;       // this many bytes at a time, every `drip_every`; 0: off
    clock::duration drip_every = std::chrono::milliseconds(1);
    std::uint64_t reset_after = 0;  // resets both ends after this many bytes
    double resets = 0;              // probability that a piece of data resets both ends
    double refusals = 0;            // probability that a new connection is reset at once
    bool half_open = false;         // nothing passes, connections stay
};

struct proxy_stats {
    std::uint64_t connections = 0;  // that reached the target
    std::uint64_t unreachable = 0;  // the target refused them
    std::uint64_t refused = 0;      // at random
    std::uint64_t resets = 0;       // made here
    std::uint64_t bytes = 0;        // passed on, both ways
    std::size_t open = 0;
};

class fault_proxy {
public:
    // Listens on 127.0.0.1, at a port that the system chooses. The seed determines the random
    // faults; 0 takes the loop's next fresh_seed(). Throws invalid_argument for invalid faults,
    // loop_error outside a loop, io_error.
    explicit fault_proxy(io::address target, const proxy_faults& faults = {},
                         std::uint64_t seed = 0);
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;
    // Ends all connections without waiting.
    ~fault_proxy();

    io::address address() const;
    std::uint64_t seed() const noexcept;
    // Throws invalid_argument.
    void set(const proxy_faults& faults);
    const proxy_faults& faults() const noexcept;
    // Resets all connections, now.
    void reset_all() noexcept;
    // Stops accepting, closes all connections and waits for their end.
    task<void> close();
    [[deprecated("use close()")]] task<void> stop() { return close(); }
    proxy_stats stats() const noexcept;

private:
    struct core;
    struct connection;
    std::shared_ptr<core> core_;
    handle<void> serving_;
};

}  // namespace weir::testing
