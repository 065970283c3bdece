// SPDX-License-Identifier: MIT
// A connect is a coroutine that performs the handshake: the request travels, finds a listener or
// not, and the answer travels back. Links are found by the pair of hosts and live as long as the
// network's core, which every connection keeps alive.

#include "testing/io/connection.hpp"

#include <weir/base/fault_point.hpp>
#include <weir/error.hpp>
#include <weir/io/error.hpp>
#include <weir/loop.hpp>
#include <weir/testing/explore.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <cerrno>
#include <charconv>

namespace weir::testing {

namespace sim {

namespace {

std::uint64_t seed_for(std::uint64_t chosen_seed) noexcept {
    if (chosen_seed != 0) {
        return chosen_seed;
    }
    loop* const here = loop::current_or_null();
    const std::uint64_t fresh = here != nullptr ? here->fresh_seed() : 0;
    return random_source(fresh ^ (current_seed() * 0xda942042e4dd58b5U)).next();
}

std::pair<std::string, std::string> in_order(std::string_view a, std::string_view b) {
    return b < a ? std::pair{std::string(b), std::string(a)}
                 : std::pair{std::string(a), std::string(b)};
}

// One direction of the handshake.
task<void> travel(std::shared_ptr<network_core> network, link& path) {
    for (;;) {
        co_await path.healed.wait();
        const link_options& options = path.options();
        co_await sleep(options.latency + network->random.up_to(options.jitter));
        if (path.healed.is_set()) {
            co_return;  // otherwise it was lost, and is sent again
        }
    }
}

task<simulated_stream> shake_hands(std::shared_ptr<network_core> network, link& path,
                                   std::string from, std::string to) {
    if (network->random.chance(path.options().silences)) {
        network->note("no answer to a connect from " + from + " to " + to);
        co_await sleep_forever();
    }
    co_await travel(network, path);
    const std::shared_ptr<listener_core> listener = network->find_listener(to);
    if (listener != nullptr && !network->random.chance(path.options().refusals)) {
        auto [near_end, far_end] = network->connect(path, network->fresh_name(from), to);
        bool taken = true;
        try {
            co_await listener->waiting().put(std::move(far_end));
        } catch (const queue_closed&) {
            taken = false;
        }
        if (taken) {
            ++network->stats.connections;
            co_await travel(network, path);
            co_return std::move(near_end);
        }
    }
    ++network->stats.refused;
    network->note("refused a connect from " + from + " to " + to);
    co_await travel(network, path);
    throw io_error(ECONNREFUSED, "connect to " + to);
}

task<simulated_stream> connect_in_time(std::shared_ptr<network_core> network, std::string from,
                                       std::string to) {
    link& path = network->between(from, host_of(to));
    if (const int error = weir::detail::fault_at(io_point::connect, "connect", true).error) {
        throw io_error(error, "connect to " + to);
    }
    try {
        co_return co_await timeout(network->options.connect_timeout,
                                   shake_hands(network, path, from, to));
    } catch (const timed_out&) {
        ++network->stats.timed_out;
        throw io_error(ETIMEDOUT, "connect to " + to);
    }
}

}  // namespace

std::string_view host_of(std::string_view address) {
    const std::size_t colon = address.rfind(':');
    unsigned port = 0;
    const char* const end = address.data() + address.size();
    if (colon != std::string_view::npos && colon > 0) {
        const auto parsed = std::from_chars(address.data() + colon + 1, end, port);
        if (parsed.ec == std::errc() && parsed.ptr == end && port <= 65535) {
            return address.substr(0, colon);
        }
    }
    throw invalid_argument("simulated_network: '" + std::string(address) +
                           "' is no address; it must be like 'host:80'");
}

network_core::network_core(const network_options& network_settings)
    : options(network_settings), seed(seed_for(network_settings.seed)), random(seed) {}

const link_options& link::options() const noexcept {
    return own.has_value() ? *own : network.options.link;
}

link& network_core::between(std::string_view a, std::string_view b) {
    std::unique_ptr<link>& found = links[in_order(a, b)];
    if (found == nullptr) {
        found = std::make_unique<link>(*this);
    }
    return *found;
}

const link_options& network_core::options_between(std::string_view a, std::string_view b) const {
    const auto found = links.find(in_order(a, b));
    return found != links.end() ? found->second->options() : options.link;
}

std::pair<simulated_stream, simulated_stream> network_core::connect(link& path, std::string from,
                                                                    std::string to) {
    const auto made =
        std::make_shared<connection>(shared_from_this(), path, std::move(from), std::move(to));
    return connection::ends_of(made);
}

std::string network_core::fresh_name(std::string_view host) {
    last_port_ = last_port_ == 65535 ? 49152 : last_port_ + 1;
    return std::string(host) + ":" + std::to_string(last_port_);
}

std::shared_ptr<listener_core> network_core::find_listener(const std::string& address) const {
    const auto found = listeners.find(address);
    return found != listeners.end() ? found->second.lock() : nullptr;
}

void network_core::note(const std::string& line) const {
    testing::note("network: " + line);
}

void listener_core::close() noexcept {
    if (waiting_.is_closed()) {
        return;
    }
    network_->listeners.erase(address_);
    waiting_.close();
    while (std::optional<simulated_stream> unaccepted = waiting_.try_get()) {
        unaccepted->reset();
    }
}

}  // namespace sim

simulated_network::simulated_network(const network_options& options) {
    sim::check(options.link);
    if (options.connect_timeout <= clock::duration::zero() ||
        options.give_up_after <= clock::duration::zero()) {
        throw invalid_argument(
            "simulated_network: connect_timeout and give_up_after must be more than 0");
    }
    core_ = std::make_shared<sim::network_core>(options);
}

simulated_network::~simulated_network() = default;

simulated_listener simulated_network::listen(std::string_view address,
                                             simulated_listen_options options) {
    std::string name(address);
    const std::string_view host = sim::host_of(name);
    if (name.ends_with(":0")) {
        name = core_->fresh_name(host);
    }
    if (core_->find_listener(name) != nullptr) {
        throw io_error(EADDRINUSE, "listen on " + name);
    }
    if (options.backlog == 0) {
        throw invalid_argument("simulated_network: backlog is 0; it must be at least 1");
    }
    auto made = std::make_shared<sim::listener_core>(core_, name, options.backlog);
    core_->listeners[name] = made;
    return simulated_listener(std::move(made));
}

task<simulated_stream> simulated_network::connect(std::string to, std::string from) {
    return sim::connect_in_time(core_, std::move(from), std::move(to));
}

task<io::result<simulated_stream>> simulated_network::connect(std::string to, io::as_result_form) {
    return io::detail::caught(connect(std::move(to)), "connect");
}

std::pair<simulated_stream, simulated_stream> simulated_network::pair() {
    return pair("client", "server");
}

std::pair<simulated_stream, simulated_stream> simulated_network::pair(std::string_view from,
                                                                      std::string_view to) {
    ++core_->stats.connections;
    std::string near_name = core_->fresh_name(from);
    std::string far_name = core_->fresh_name(to);
    return core_->connect(core_->between(from, to), std::move(near_name), std::move(far_name));
}

void simulated_network::set_link(std::string_view a, std::string_view b,
                                 const link_options& options) {
    sim::check(options);
    core_->between(a, b).own = options;
}

link_options simulated_network::link(std::string_view a, std::string_view b) const {
    return core_->options_between(a, b);
}

void simulated_network::set_default_link(const link_options& options) {
    sim::check(options);
    core_->options.link = options;
}

void simulated_network::partition(std::string_view a, std::string_view b) {
    core_->note("partition between " + std::string(a) + " and " + std::string(b));
    core_->between(a, b).healed.clear();
}

void simulated_network::heal(std::string_view a, std::string_view b) {
    sim::link& path = core_->between(a, b);
    if (path.healed.is_set()) {
        return;
    }
    core_->note("healed between " + std::string(a) + " and " + std::string(b));
    path.healed.set();
    for (sim::connection* const each : path.connections) {
        each->resume_travel();
    }
}

void simulated_network::heal() {
    for (const auto& [hosts, path] : core_->links) {
        heal(hosts.first, hosts.second);
    }
}

void simulated_network::reset(std::string_view a, std::string_view b) {
    for (sim::connection* const each : core_->between(a, b).connections) {
        each->cut();
    }
}

network_stats simulated_network::stats() const noexcept {
    return core_->stats;
}

std::uint64_t simulated_network::seed() const noexcept {
    return core_->seed;
}

task<simulated_stream> simulated_listener::accept() {
    if (core_ == nullptr) {
        throw invalid_state(
            "simulated_listener: accept of one that was moved from or never opened");
    }
    const std::shared_ptr<sim::listener_core> core = core_;
    if (const int error = weir::detail::fault_at(io_point::accept, "accept", true).error) {
        throw io_error(error, "accept");
    }
    const bool waited = !core->waiting().is_closed();
    std::optional<simulated_stream> next = co_await core->waiting().next();
    if (!next.has_value()) {
        throw io_error(waited ? ECANCELED : EBADF,
                       waited ? "accept, which was closed meanwhile" : "accept on what is closed");
    }
    co_return std::move(*next);
}

task<io::result<simulated_stream>> simulated_listener::accept(io::as_result_form) {
    return io::detail::caught(accept(), "accept");
}

void simulated_listener::close() noexcept {
    if (core_ != nullptr) {
        core_->close();
    }
}

std::string simulated_listener::local_address() const {
    return core_ != nullptr ? core_->address() : std::string();
}

}  // namespace weir::testing
