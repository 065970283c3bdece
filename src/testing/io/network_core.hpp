// SPDX-License-Identifier: MIT
// The state of a simulated network: links, listeners, randomness and counters.
#pragma once

#include "testing/io/random_source.hpp"

#include <weir/sync/event.hpp>
#include <weir/sync/queue.hpp>
#include <weir/testing/io/simulated_network.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::testing::sim {

// The link between two hosts.
struct link {
    explicit link(network_core& owner) : network(owner) { healed.set(); }
    const link_options& options() const noexcept;

    network_core& network;
    std::optional<link_options> own;
    std::int64_t free_at[2] = {0, 0};  // when each direction has sent its data
    event healed;                      // cleared during a partition
    std::vector<connection*> connections;
};

class listener_core {
public:
    listener_core(std::shared_ptr<network_core> network, std::string address, std::size_t backlog)
        : network_(std::move(network)), address_(std::move(address)), waiting_(backlog) {}
    listener_core(const listener_core&) = delete;
    listener_core& operator=(const listener_core&) = delete;

    void close() noexcept;
    const std::string& address() const noexcept { return address_; }
    queue<simulated_stream>& waiting() noexcept { return waiting_; }

private:
    std::shared_ptr<network_core> network_;
    std::string address_;
    queue<simulated_stream> waiting_;
};

class network_core : public std::enable_shared_from_this<network_core> {
public:
    explicit network_core(const network_options& network_settings);

    link& between(std::string_view a, std::string_view b);
    const link_options& options_between(std::string_view a, std::string_view b) const;
    std::pair<simulated_stream, simulated_stream> connect(link& path, std::string from,
                                                          std::string to);
    std::string fresh_name(std::string_view host);
    std::shared_ptr<listener_core> find_listener(const std::string& address) const;
    void note(const std::string& line) const;

    network_options options;
    std::uint64_t seed;
    random_source random;
    network_stats stats;
    std::map<std::string, std::weak_ptr<listener_core>, std::less<>> listeners;
    std::map<std::pair<std::string, std::string>, std::unique_ptr<link>> links;

private:
    std::uint16_t last_port_ = 49151;
};

// Throws invalid_argument that names the option.
void check(const link_options& options);
// 'server' of 'server:80'. Throws invalid_argument for another form.
std::string_view host_of(std::string_view address);

}  // namespace weir::testing::sim
