// SPDX-License-Identifier: MIT
// How c-ares is set up: once, and again when resolv.conf has changed, since it does not look for
// itself.

#include "io/dns/ares_client.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <mutex>
#include <utility>

namespace weir::dns::detail {

namespace {

void check(int status, const char* what) {
    if (status != ARES_SUCCESS) {
        throw resolve_error(std::string("cannot start the resolver: ") + what + ": " +
                            ares_strerror(status));
    }
}

void initialise_library() {
    static std::once_flag once;  // counted without a lock
    std::call_once(once, [] { check(ares_library_init(ARES_LIB_INIT_ALL), "ares_library_init"); });
}

ares_addr_port_node node_of(const io::address& server) {
    ares_addr_port_node made{};
    made.udp_port = made.tcp_port = server.port() == 0 ? 53 : server.port();
    if (server.kind() == io::address::family::ipv4) {
        sockaddr_in raw{};
        std::memcpy(&raw, server.data(), sizeof raw);
        made.family = AF_INET;
        made.addr.addr4 = raw.sin_addr;
    } else if (server.kind() == io::address::family::ipv6) {
        sockaddr_in6 raw{};
        std::memcpy(&raw, server.data(), sizeof raw);
        made.family = AF_INET6;
        std::memcpy(&made.addr.addr6, &raw.sin6_addr, sizeof raw.sin6_addr);
    } else {
        throw invalid_argument("dns::resolver: servers has '" + server.text() +
                               "'; a server is an IPv4 or IPv6 address");
    }
    return made;
}

std::string text_of(const ares_addr_port_node& server) {
    const auto port = static_cast<std::uint16_t>(server.udp_port == 0 ? 53 : server.udp_port);
    if (server.family == AF_INET) {
        sockaddr_in raw{};
        raw.sin_family = AF_INET;
        raw.sin_port = htons(port);
        raw.sin_addr = server.addr.addr4;
        return io::address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw).text();
    }
    sockaddr_in6 raw{};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(port);
    std::memcpy(&raw.sin6_addr, &server.addr.addr6, sizeof raw.sin6_addr);
    return io::address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw).text();
}

}  // namespace

ares_client::ares_client(const resolver_options& options)
    : servers_(options.servers.begin(), options.servers.end()),
      resolv_conf_(options.resolv_conf),
      timeout_(
          static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(options.timeout).count())),
      tries_(options.tries),
      configured_(file_version::of(resolv_conf_)) {
    initialise_library();
    configure();
}

// With several servers c-ares passes over one that fails, and loses what it said. With one there is
// nothing to pass on to, and its word is worth more.
void ares_client::configure() {
    open(servers_.size() == 1);
    try {
        if (use_servers() == 1 && servers_.size() != 1) {
            ares_destroy(std::exchange(channel_, nullptr));
            open(true);
            use_servers();
        }
        read_configuration();
    } catch (...) {
        ares_destroy(std::exchange(channel_, nullptr));
        throw;
    }
}

bool ares_client::refresh() noexcept {
    if (home_->now() < next_look_) {
        return false;
    }
    next_look_ = weir::detail::after(home_->now(), file_look_interval);
    const file_version current = file_version::of(resolv_conf_);
    if (current == configured_) {
        return false;
    }
    configured_ = current;
    const ares_channel old = std::exchange(channel_, nullptr);
    try {
        configure();
        ares_destroy(old);
        return true;
    } catch (...) {
        channel_ = old;  // better than none
        return false;
    }
}

void ares_client::open(bool passes_failures) {
    char lookups[] = "b";
    ares_options raw{};
    raw.flags = passes_failures ? ARES_FLAG_NOCHECKRESP : 0;
    raw.timeout = timeout_;
    raw.tries = tries_;
    raw.lookups = lookups;
    raw.sock_state_cb = &ares_client::on_socket_state;
    raw.sock_state_cb_data = this;
    raw.resolvconf_path = resolv_conf_.data();
    check(
        ares_init_options(&channel_, &raw,
                          ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                              ARES_OPT_SOCK_STATE_CB | ARES_OPT_RESOLVCONF | ARES_OPT_NOROTATE),
        "ares_init_options");
}

int ares_client::use_servers() {
    if (!servers_.empty()) {
        std::vector<ares_addr_port_node> nodes;
        for (const io::address& each : servers_) {
            nodes.push_back(node_of(each));
        }
        for (std::size_t index = 1; index < nodes.size(); ++index) {
            nodes[index - 1].next = &nodes[index];
        }
        check(ares_set_servers_ports(channel_, nodes.data()), "ares_set_servers_ports");
    }
    ares_addr_port_node* servers = nullptr;
    check(ares_get_servers_ports(channel_, &servers), "ares_get_servers_ports");
    int count = 0;
    server_names_.clear();
    for (const ares_addr_port_node* each = servers; each != nullptr; each = each->next) {
        server_names_ += (count++ == 0 ? "" : ", ") + text_of(*each);
    }
    ares_free_data(servers);
    return count;
}

void ares_client::read_configuration() {
    ares_options saved{};
    int mask = 0;
    check(ares_save_options(channel_, &saved, &mask), "ares_save_options");
    enough_dots_ = saved.ndots;
    search_.clear();
    for (int index = 0; index < saved.ndomains; ++index) {
        search_.emplace_back(saved.domains[index]);
    }
    ares_destroy_options(&saved);
}

}  // namespace weir::dns::detail
