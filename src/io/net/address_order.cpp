// SPDX-License-Identifier: MIT
// Each address is ranked once by a row of numbers, and the rows are compared. IPv4 addresses take
// part as ::ffff:a.b.c.d, as the policy table of RFC 6724 requires.

#include "io/net/address_order.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::io::detail {

namespace {

using v6_bytes = std::array<unsigned char, 16>;

v6_bytes bytes_of(const address& from) noexcept {
    v6_bytes made{};
    if (from.kind() == address::family::ipv4) {
        sockaddr_in raw{};
        std::memcpy(&raw, from.data(), sizeof raw);
        made[10] = made[11] = 0xff;
        std::memcpy(made.data() + 12, &raw.sin_addr, 4);
    } else {
        sockaddr_in6 raw{};
        std::memcpy(&raw, from.data(), std::min(sizeof raw, from.size()));
        std::memcpy(made.data(), &raw.sin6_addr, 16);
    }
    return made;
}

int common_prefix(const v6_bytes& a, const v6_bytes& b, int most) noexcept {
    for (int bit = 0; bit < most; ++bit) {
        const auto index = static_cast<std::size_t>(bit / 8);
        if (((a[index] ^ b[index]) & (0x80 >> (bit % 8))) != 0) {
            return bit;
        }
    }
    return most;
}

struct policy {
    v6_bytes prefix;
    int length;
    int precedence;
    int label;
};
constexpr std::array<policy, 9> policies{{
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, 50, 0},  // ::1
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 35, 4},         // IPv4
    {{}, 96, 1, 3},                                                  // IPv4-compatible, long gone
    {{0x20, 0x01}, 32, 5, 5},                                        // Teredo
    {{0x20, 0x02}, 16, 30, 2},                                       // 6to4
    {{0x3f, 0xfe}, 16, 1, 12},                                       // 6bone
    {{0xfe, 0xc0}, 10, 1, 11},                                       // site-local
    {{0xfc}, 7, 3, 13},                                              // unique local
    {{}, 0, 40, 1},                                                  // all other IPv6
}};

const policy& policy_of(const v6_bytes& ip) noexcept {
    for (const policy& each : policies) {
        if (common_prefix(ip, each.prefix, each.length) == each.length) {
            return each;
        }
    }
    return policies.back();
}

constexpr int link_local_scope = 2;
constexpr int site_local_scope = 5;
constexpr int global_scope = 14;

int scope_of(const v6_bytes& ip) noexcept {
    if (policy_of(ip).label == 4) {
        const bool is_local = ip[12] == 127 || (ip[12] == 169 && ip[13] == 254);
        return is_local ? link_local_scope : global_scope;
    }
    if (ip[0] == 0xff) {
        return ip[1] & 0x0f;
    }
    if (policy_of(ip).label == 0 || (ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80)) {
        return link_local_scope;
    }
    return ip[0] == 0xfe && (ip[1] & 0xc0) == 0xc0 ? site_local_scope : global_scope;
}

// Smaller is better; the first number that differs decides.
struct ranked_address {
    address where;
    std::array<int, 7> rank{};
};

ranked_address rank(const address& where, const source_finder& source) {
    ranked_address made{where};
    const v6_bytes destination = bytes_of(where);
    const policy& rule = policy_of(destination);
    const int scope = scope_of(destination);
    const std::optional<address> from = source(where);
    if (!from) {
        made.rank = {1, 1, 1, -rule.precedence, scope, 0};
        return made;
    }
    const v6_bytes origin = bytes_of(*from);
    const bool is_v6 = where.kind() == address::family::ipv6;
    made.rank = {0,
                 scope_of(origin) == scope ? 0 : 1,
                 policy_of(origin).label == rule.label ? 0 : 1,
                 -rule.precedence,
                 scope,
                 is_v6 ? -common_prefix(destination, origin, 64) : 0};
    return made;
}

}  // namespace

std::optional<address> source_for(const address& destination) noexcept {
    if (!destination.is_ip()) {
        return std::nullopt;
    }
    const int fd = ::socket(destination.data()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return std::nullopt;
    }
    // Connecting a datagram socket only chooses the route; any port but 0 will do.
    const address target = destination.with_port(9);
    sockaddr_storage raw{};
    socklen_t size = sizeof raw;
    std::optional<address> found;
    if (::connect(fd, target.data(), static_cast<socklen_t>(target.size())) == 0 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&raw), &size) == 0) {
        found = address::from(reinterpret_cast<const sockaddr*>(&raw), size);
    }
    ::close(fd);
    return found;
}

void sort_by_preference(std::vector<address>& addresses, const source_finder& source) {
    if (addresses.size() < 2) {
        return;
    }
    std::vector<ranked_address> ranked;
    ranked.reserve(addresses.size());
    for (const address& each : addresses) {
        ranked.push_back(rank(each, source));
        ranked.back().rank.back() =
            static_cast<int>(ranked.size());  // otherwise in the given order
    }
    std::sort(ranked.begin(), ranked.end(),
              [](const ranked_address& a, const ranked_address& b) { return a.rank < b.rank; });
    std::transform(ranked.begin(), ranked.end(), addresses.begin(),
                   [](const ranked_address& each) { return each.where; });
}

void interleave_families(std::vector<address>& addresses) {
    std::vector<address> first;
    std::vector<address> second;
    for (const address& each : addresses) {
        (each.kind() == addresses.front().kind() ? first : second).push_back(each);
    }
    addresses.clear();
    for (std::size_t index = 0; index < std::max(first.size(), second.size()); ++index) {
        if (index < first.size()) {
            addresses.push_back(first[index]);
        }
        if (index < second.size()) {
            addresses.push_back(second[index]);
        }
    }
}

}  // namespace weir::io::detail
