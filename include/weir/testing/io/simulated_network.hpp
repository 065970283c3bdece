// SPDX-License-Identifier: MIT
// A network in simulated time: hosts, listeners and connections that exist only in the test.
//
//     weir::testing::simulated_network net({.link = {.latency = 20ms, .short_reads = 0.5}});
//     auto listener = net.listen("server:80");
//     auto client = co_await net.connect("server:80");
//     auto peer = co_await listener.accept();
//     net.partition("client", "server");      // nothing passes until heal()
//
// The streams satisfy io::byte_stream, so protocol code runs over them unchanged. All randomness
// comes from one seed, which changes with the schedule of the test: WEIR_SCHEDULES=1000 runs the
// test on a thousand networks, and WEIR_SEED=n replays one of them byte by byte. Everything belongs
// to one loop; the network may be destroyed before its streams.
#pragma once

#include <weir/task.hpp>
#include <weir/testing/io/link_options.hpp>
#include <weir/testing/io/simulated_stream.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir::testing {

namespace sim {
class network_core;
class listener_core;
}  // namespace sim

// Takes connections to one address. Move-only; destroying it closes it.
class simulated_listener {
public:
    simulated_listener() noexcept = default;
    simulated_listener(simulated_listener&&) noexcept = default;
    simulated_listener& operator=(simulated_listener&& other) noexcept {
        simulated_listener old(std::move(*this));
        core_ = std::move(other.core_);
        return *this;
    }
    ~simulated_listener() { close(); }

    // The next connection, in the order of arrival. A cancelled accept has taken none. Throws
    // io_error if the listener is closed. Several tasks may accept at once.
    task<simulated_stream> accept();
    task<io::result<simulated_stream>> accept(io::as_result_form form);
    // Refuses later connects and resets connections that were not accepted.
    void close() noexcept;
    std::string local_address() const;  // 'server:80'

private:
    friend class simulated_network;
    explicit simulated_listener(std::shared_ptr<sim::listener_core> core) noexcept
        : core_(std::move(core)) {}

    std::shared_ptr<sim::listener_core> core_;
};

struct simulated_listen_options {
    std::size_t backlog = 128;  // connections that wait for accept(); then connects wait
};

class simulated_network {
public:
    // Throws invalid_argument for invalid options.
    explicit simulated_network(const network_options& options = {});
    simulated_network(const simulated_network&) = delete;
    simulated_network& operator=(const simulated_network&) = delete;
    ~simulated_network();

    // Addresses are 'host:port', with any name for a host. Port 0 takes a free one. Throws io_error
    // 'listen on server:80: Address already in use'.
    simulated_listener listen(std::string_view address, simulated_listen_options options = {});
    // Takes a round trip. Throws io_error: 'connect to server:80: Connection refused' without a
    // listener, '... Connection timed out' without an answer.
    task<simulated_stream> connect(std::string to, std::string from = "client");
    task<io::result<simulated_stream>> connect(std::string to, io::as_result_form form);
    // Two connected ends without a handshake, from host 'client' to host 'server'.
    std::pair<simulated_stream, simulated_stream> pair();
    std::pair<simulated_stream, simulated_stream> pair(std::string_view from, std::string_view to);

    // The link between two hosts, also for existing connections.
    void set_link(std::string_view a, std::string_view b, const link_options& options);
    link_options link(std::string_view a, std::string_view b) const;
    // The link between all hosts without a link of their own.
    void set_default_link(const link_options& options);
    // Nothing passes between the two until heal(), not even a refusal. Data sent meanwhile arrives
    // then, unless the sender has timed out.
    void partition(std::string_view a, std::string_view b);
    void heal(std::string_view a, std::string_view b);
    void heal();
    // Resets the connections between the two now; both ends see it at once.
    void reset(std::string_view a, std::string_view b);

    network_stats stats() const noexcept;
    std::uint64_t seed() const noexcept;

private:
    std::shared_ptr<sim::network_core> core_;
};

}  // namespace weir::testing
