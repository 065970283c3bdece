// SPDX-License-Identifier: MIT
// The name servers and settings of c-ares: resolv.conf and the resolver's options.
#pragma once

#include "io/dns/hosts_file.hpp"

#include <weir/clock.hpp>
#include <weir/io/dns.hpp>

#include <ares.h>

#include <string>
#include <vector>

namespace weir::dns::detail {

// c-ares reads resolv.conf only when a channel is opened, and does not notice changes: the owner
// checks has_changed() and opens another channel.
class ares_configuration {
public:
    explicit ares_configuration(const resolver_options& options);

    // Reads resolv.conf. Throws resolve_error, or invalid_argument for a server that is no IP
    // address.
    ares_channel open_channel(ares_sock_state_cb callback, void* owner);
    // Has resolv.conf changed since the last call? Looks at the file at most every
    // file_look_interval.
    bool has_changed(clock::time_point now) noexcept;

    // The names to query, one after the other: the name alone and in each search domain.
    std::vector<std::string> candidates_for(const std::string& name) const;
    // An error of c-ares in words.
    std::string explain(int status) const;

private:
    ares_channel open_with(bool passes_failures, ares_sock_state_cb callback, void* owner);
    int use_servers(ares_channel channel);
    void read_search_domains(ares_channel channel);

    std::vector<io::address> servers_;  // from the options; empty: those of resolv.conf
    std::string resolv_conf_;
    int timeout_;  // milliseconds
    int tries_;
    file_version version_;
    clock::time_point next_look_ = clock::time_point::min();
    // Of the channel that was opened last.
    std::string server_names_;
    std::vector<std::string> search_domains_;
    int min_dots_ = 1;  // a name with fewer dots is tried in the search domains first
};

}  // namespace weir::dns::detail
