// SPDX-License-Identifier: MIT
// A TCP proxy on loopback that misbehaves on demand: for code whose sockets belong to other
// libraries, which a simulated network cannot reach.
//
//     weir::testing::fault_proxy proxy(server.local_address(), {.latency = 20ms});
//     connect_the_library_to(proxy.address());
//     proxy.set({.half_open = true});        // from now on nothing passes, and nobody is told
//     co_await proxy.stop();
//
// It runs as tasks of the loop on which it was made, on the real clock; what blocks that loop's
// thread blocks the proxy too. Bytes pass in order and unchanged, half-closes and resets are passed
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

// Each way by itself, for each connection; changes take effect on connections that exist.
struct proxy_faults {
    clock::duration latency{};  // from the arrival of bytes to their leaving
    clock::duration jitter{};   // up to so much more
    double bandwidth = 0;       // bytes a second; 0: as fast as it goes
    std::size_t drip = 0;       // so many bytes at a time, every `drip_every`; 0: off
    clock::duration drip_every = std::chrono::milliseconds(1);
    std::uint64_t reset_after = 0;  // so many bytes through a connection, then both ends are reset
    double resets = 0;              // chance that a piece on its way resets both ends instead
    double refusals = 0;            // chance that a new connection is reset at once
    bool half_open = false;         // nothing passes, connections stay
};

struct proxy_stats {
    std::uint64_t connections = 0;  // that reached the target
    std::uint64_t unreachable = 0;  // the target refused them
    std::uint64_t refused = 0;      // by chance
    std::uint64_t resets = 0;       // made here
    std::uint64_t bytes = 0;        // passed on, both ways
    std::size_t open = 0;
};

class fault_proxy {
public:
    // Listens on 127.0.0.1, at a port that the system chooses. The seed decides the faults that
    // happen by chance; 0 takes the loop's next fresh_seed(). Throws invalid_argument for faults
    // that make no sense, loop_error outside a loop, io_error.
    explicit fault_proxy(io::address target, const proxy_faults& faults = {},
                         std::uint64_t seed = 0);
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;
    // Ends everything, without waiting for it.
    ~fault_proxy();

    io::address address() const;
    std::uint64_t seed() const noexcept;
    // Throws invalid_argument.
    void set(const proxy_faults& faults);
    const proxy_faults& faults() const noexcept;
    // Resets all connections, now.
    void reset_all() noexcept;
    // Accepts no more, closes all connections and waits until they are gone.
    task<void> stop();
    proxy_stats stats() const noexcept;

private:
    struct core;
    struct connection;
    std::shared_ptr<core> core_;
    handle<void> serving_;
};

}  // namespace weir::testing
