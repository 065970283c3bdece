// SPDX-License-Identifier: MIT
// Sources in the order of their precedence: a literal address, names that are never queried,
// localhost, the hosts file, the cache.

#include "io/dns/known_names.hpp"

#include "io/dns/host_name.hpp"
#include "io/net/address_order.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <algorithm>
#include <iterator>

namespace weir::dns::detail {

namespace {

std::optional<io::address> as_address(const std::string& host) {
    const bool may_be = host.find(':') != std::string::npos ||
                        (!host.empty() && host.back() >= '0' && host.back() <= '9');
    if (may_be) {
        try {
            return io::address::parse(host, 0);
        } catch (const invalid_argument&) {
            // Not an address, and refused as a name by check_host_name().
        }
    }
    return std::nullopt;
}

}  // namespace

std::string failure_of(const std::string& name, const std::string& why) {
    return "cannot resolve " + name + ": " + why;
}

bool known_names::wants(io::address::family kind) const noexcept {
    return kind == io::address::family::ipv4 ? families_ != families::ipv6_only
                                             : families_ != families::ipv4_only;
}

void known_names::arrange(std::vector<io::address>& addresses) const {
    std::erase_if(addresses, [&](const io::address& each) { return !wants(each.kind()); });
    io::detail::sort_by_preference(addresses);
    if (families_ == families::ipv4_first || families_ == families::ipv6_first) {
        const auto first = families_ == families::ipv4_first ? io::address::family::ipv4
                                                             : io::address::family::ipv6;
        // Not std::stable_partition: libstdc++ 12 uses a function for it that clang 19 warns of.
        std::vector<io::address> ordered;
        ordered.reserve(addresses.size());
        for (const bool is_first : {true, false}) {
            std::copy_if(
                addresses.begin(), addresses.end(), std::back_inserter(ordered),
                [&](const io::address& each) { return (each.kind() == first) == is_first; });
        }
        addresses = std::move(ordered);
    }
}

std::optional<answer> known_names::find(std::string& host) {
    if (const std::optional<io::address> literal = as_address(host)) {
        if (!wants(literal->kind())) {
            return answer{
                .failure = failure_of(host, "it is an address of the family that is not wanted")};
        }
        return answer{.addresses = {*literal}};
    }
    host = check_host_name(host);
    if (is_never_found(host)) {
        return answer{.failure = failure_of(host, no_such_host)};
    }
    std::vector<io::address> local = local_addresses(host);
    arrange(local);
    if (!local.empty()) {
        return answer{.addresses = std::move(local)};
    }
    const answer* const remembered = cache_.find(host, weir::now());
    if (remembered == nullptr) {
        return std::nullopt;
    }
    ++cache_hits_;
    return *remembered;
}

std::vector<io::address> known_names::local_addresses(const std::string& name) {
    if (is_localhost(name)) {
        return {io::address::loopback_v6(0), io::address::loopback(0)};
    }
    const std::string bare = name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
    const std::vector<io::address>* const listed = hosts_.find(bare, weir::now());
    return listed == nullptr ? std::vector<io::address>() : *listed;
}

}  // namespace weir::dns::detail
