// SPDX-License-Identifier: MIT
// What a resolver knows without asking a server: literal addresses, this machine, the hosts file,
// and earlier answers.
#pragma once

#include "io/dns/dns_cache.hpp"
#include "io/dns/hosts_file.hpp"

#include <weir/io/dns.hpp>
#include <weir/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::dns::detail {

// Why a name was not resolved that no server has, or that must not be sent to a server.
constexpr const char* no_such_host = "no such host (NXDOMAIN)";

// The message of a resolve_error.
std::string failure_of(const std::string& name, const std::string& why);

class known_names {
public:
    explicit known_names(const resolver_options& options)
        : families_(options.families),
          hosts_(std::string(options.hosts_file)),
          cache_(options.cache_size) {}

    // The answer for a host, with addresses or a failure; nothing if a server must be queried. A
    // host name is put into its canonical form. Throws resolve_error if it is no valid name.
    std::optional<answer> find(std::string& host);

    // Is this family of addresses wanted?
    bool wants(io::address::family kind) const noexcept;
    // Removes families that are not wanted, and puts the best addresses first.
    void arrange(std::vector<io::address>& addresses) const;

    void remember(const std::string& name, answer result, clock::duration good_for) {
        cache_.put(name, std::move(result), weir::now(), good_for);
    }
    void clear_cache() noexcept { cache_.clear(); }
    std::size_t cached() const noexcept { return cache_.size(); }
    std::uint64_t cache_hits() const noexcept { return cache_hits_; }

private:
    std::vector<io::address> local_addresses(const std::string& name);

    dns::families families_;
    hosts_file hosts_;
    cache cache_;
    std::uint64_t cache_hits_ = 0;
};

}  // namespace weir::dns::detail
