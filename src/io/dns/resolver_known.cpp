// SPDX-License-Identifier: MIT
// What the resolver knows without asking a server: addresses, this machine, the hosts file, the
// cache. And how what it learns is arranged and worded.

#include "io/dns/host_name.hpp"
#include "io/dns/resolver_core.hpp"
#include "io/net/address_order.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <algorithm>
#include <iterator>

namespace weir::dns::detail {

namespace {

constexpr std::size_t longest_name = 253;

// Empty if it is none.
std::vector<io::address> as_address(const std::string& host) {
    const bool may_be = host.find(':') != std::string::npos ||
                        (!host.empty() && host.back() >= '0' && host.back() <= '9');
    if (may_be) {
        try {
            return {io::address::parse(host, 0)};
        } catch (const invalid_argument&) {
            // Nonsense, which is refused as a name.
        }
    }
    return {};
}

}  // namespace

std::string failure_of(const std::string& name, const std::string& why) {
    return "cannot resolve " + name + ": " + why;
}

bool resolver_core::wants(io::address::family kind) const noexcept {
    return kind == io::address::family::ipv4 ? options_.families != families::ipv6_only
                                             : options_.families != families::ipv4_only;
}

void resolver_core::arrange(std::vector<io::address>& addresses) const {
    std::erase_if(addresses, [&](const io::address& each) { return !wants(each.kind()); });
    io::detail::sort_by_preference(addresses);
    if (options_.families == families::ipv4_first || options_.families == families::ipv6_first) {
        const auto first = options_.families == families::ipv4_first ? io::address::family::ipv4
                                                                     : io::address::family::ipv6;
        std::vector<io::address> ordered;
        for (const bool is_first : {true, false}) {
            std::copy_if(
                addresses.begin(), addresses.end(), std::back_inserter(ordered),
                [&](const io::address& each) { return (each.kind() == first) == is_first; });
        }
        addresses = std::move(ordered);
    }
}

bool resolver_core::answer_at_once(resolve_operation& asked) {
    std::vector<io::address> known = as_address(asked.host_);
    if (!known.empty() && !wants(known.front().kind())) {
        asked.fail(failure_of(asked.host_, "it is an address of the family that is not wanted"));
        return true;
    }
    if (known.empty()) {
        asked.host_ = check_host_name(asked.host_);
        if (is_never_found(asked.host_)) {
            asked.fail(failure_of(asked.host_, explain(ARES_ENOTFOUND)));
            return true;
        }
        known = local_addresses(asked.host_);
        arrange(known);
    }
    if (!known.empty()) {
        asked.finish(known);
        return true;
    }
    const answer* const remembered = cache_.find(asked.host_, weir::now());
    if (remembered == nullptr) {
        return false;
    }
    ++cache_hits_;
    if (remembered->addresses.empty()) {
        asked.fail(remembered->failure);
    } else {
        asked.finish(remembered->addresses);
    }
    return true;
}

std::vector<io::address> resolver_core::local_addresses(const std::string& name) {
    if (is_localhost(name)) {
        return {io::address::loopback_v6(0), io::address::loopback(0)};
    }
    const std::string bare = name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
    const std::vector<io::address>* const listed = hosts_.find(bare, weir::now());
    return listed == nullptr ? std::vector<io::address>() : *listed;
}

std::vector<std::string> resolver_core::candidates_for(const std::string& name) const {
    if (name.ends_with('.')) {
        return {name.substr(0, name.size() - 1)};
    }
    std::vector<std::string> made;
    for (const std::string& domain : search_domains()) {
        std::string longer = name + "." + domain;
        if (longer.size() <= longest_name) {
            made.push_back(std::move(longer));
        }
    }
    const bool is_first = std::count(name.begin(), name.end(), '.') >= enough_dots();
    made.insert(is_first ? made.begin() : made.end(), name);
    return made;
}

std::string resolver_core::explain(int status) const {
    switch (status) {
        case ARES_ENOTFOUND:
            return "no such host (NXDOMAIN)";
        case ARES_ENODATA:
            return "the name exists, but has no addresses";
        case ARES_ETIMEOUT:
            return "no answer from " + server_names();
        case ARES_ECONNREFUSED:
            return "no name server could be reached or would answer, of " + server_names();
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
