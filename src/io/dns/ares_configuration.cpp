// SPDX-License-Identifier: MIT
// With several servers c-ares passes over one that fails, and drops the error that the server sent.
// A single server has no alternative, and its error is informative: such a channel is opened with
// ARES_FLAG_NOCHECKRESP. How many servers resolv.conf has is known only after opening.

#include "io/dns/ares_configuration.hpp"

#include "io/dns/host_name.hpp"
#include "io/dns/known_names.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
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
    static std::once_flag once;  // c-ares counts its users without a lock
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

ares_configuration::ares_configuration(const resolver_options& options)
    : servers_(options.servers.begin(), options.servers.end()),
      resolv_conf_(options.resolv_conf),
      timeout_(
          static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(options.timeout).count())),
      tries_(options.tries),
      version_(file_version::of(resolv_conf_)) {
    initialise_library();
}

ares_channel ares_configuration::open_channel(ares_sock_state_cb callback, void* owner) {
    ares_channel opened = open_with(servers_.size() == 1, callback, owner);
    try {
        if (use_servers(opened) == 1 && servers_.size() != 1) {
            ares_destroy(std::exchange(opened, nullptr));
            opened = open_with(true, callback, owner);
            use_servers(opened);
        }
        read_search_domains(opened);
    } catch (...) {
        ares_destroy(opened);
        throw;
    }
    return opened;
}

bool ares_configuration::has_changed(clock::time_point now) noexcept {
    if (now < next_look_) {
        return false;
    }
    next_look_ = weir::detail::after(now, file_look_interval);
    const file_version current = file_version::of(resolv_conf_);
    return std::exchange(version_, current) != current;
}

ares_channel ares_configuration::open_with(bool passes_failures, ares_sock_state_cb callback,
                                           void* owner) {
    char lookups[] = "b";
    ares_options raw{};
    raw.flags = passes_failures ? ARES_FLAG_NOCHECKRESP : 0;
    raw.timeout = timeout_;
    raw.tries = tries_;
    raw.lookups = lookups;
    raw.sock_state_cb = callback;
    raw.sock_state_cb_data = owner;
    raw.resolvconf_path = resolv_conf_.data();
    ares_channel opened = nullptr;
    check(
        ares_init_options(&opened, &raw,
                          ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
                              ARES_OPT_SOCK_STATE_CB | ARES_OPT_RESOLVCONF | ARES_OPT_NOROTATE),
        "ares_init_options");
    return opened;
}

// Returns the number of servers.
int ares_configuration::use_servers(ares_channel channel) {
    if (!servers_.empty()) {
        std::vector<ares_addr_port_node> nodes;
        for (const io::address& each : servers_) {
            nodes.push_back(node_of(each));
        }
        for (std::size_t index = 1; index < nodes.size(); ++index) {
            nodes[index - 1].next = &nodes[index];
        }
        check(ares_set_servers_ports(channel, nodes.data()), "ares_set_servers_ports");
    }
    ares_addr_port_node* servers = nullptr;
    check(ares_get_servers_ports(channel, &servers), "ares_get_servers_ports");
    int count = 0;
    server_names_.clear();
    for (const ares_addr_port_node* each = servers; each != nullptr; each = each->next) {
        server_names_ += (count++ == 0 ? "" : ", ") + text_of(*each);
    }
    ares_free_data(servers);
    return count;
}

void ares_configuration::read_search_domains(ares_channel channel) {
    ares_options saved{};
    int mask = 0;
    check(ares_save_options(channel, &saved, &mask), "ares_save_options");
    min_dots_ = saved.ndots;
    search_domains_.clear();
    for (int index = 0; index < saved.ndomains; ++index) {
        search_domains_.emplace_back(saved.domains[index]);
    }
    ares_destroy_options(&saved);
}

std::vector<std::string> ares_configuration::candidates_for(const std::string& name) const {
    if (name.ends_with('.')) {
        return {name.substr(0, name.size() - 1)};
    }
    std::vector<std::string> made;
    for (const std::string& domain : search_domains_) {
        std::string longer = name + "." + domain;
        if (longer.size() <= longest_host_name) {
            made.push_back(std::move(longer));
        }
    }
    const bool is_first = std::count(name.begin(), name.end(), '.') >= min_dots_;
    made.insert(is_first ? made.begin() : made.end(), name);
    return made;
}

std::string ares_configuration::explain(int status) const {
    switch (status) {
        case ARES_ENOTFOUND:
            return no_such_host;
        case ARES_ENODATA:
            return "the name exists, but has no addresses";
        case ARES_ETIMEOUT:
            return "no answer from " + server_names_;
        case ARES_ECONNREFUSED:
            return "no name server could be reached or would answer, of " + server_names_;
        case ARES_ESERVFAIL:
            return "the name server failed (SERVFAIL)";
        case ARES_EREFUSED:
            return "the name server refused to answer (REFUSED)";
        case ARES_ENOTIMP:
            return "the name server does not know how (NOTIMP)";
        case ARES_EFORMERR:
            return "the name server did not understand the question (FORMERR)";
        case ARES_EBADRESP:
        case ARES_EBADNAME:
            return "the answer of the name server makes no sense";
        default:
            return ares_strerror(status);
    }
}

}  // namespace weir::dns::detail
