// SPDX-License-Identifier: MIT
// A table of ranges in order of precedence: the first that contains the address decides. An
// IPv4-mapped address counts as its IPv4 address, since the system connects to that.

#include "http/address/address_bytes.hpp"

#include <weir/http/address_filter.hpp>

#include <array>
#include <cstring>

namespace weir::http {

namespace {

using detail::address_bytes;

struct v4_range {
    std::uint32_t base;
    int prefix;
    address_class kind;
};

constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) noexcept {
    return a << 24 | b << 16 | c << 8 | d;
}

constexpr v4_range v4_ranges[] = {
    {v4(0, 0, 0, 0), 8, address_class::unspecified},
    {v4(10, 0, 0, 0), 8, address_class::private_},
    {v4(100, 64, 0, 0), 10, address_class::shared},
    {v4(127, 0, 0, 0), 8, address_class::loopback},
    {v4(168, 63, 129, 16), 32, address_class::platform},
    {v4(169, 254, 0, 0), 16, address_class::link_local},
    {v4(172, 16, 0, 0), 12, address_class::private_},
    {v4(192, 0, 0, 0), 24, address_class::protocol},
    {v4(192, 0, 2, 0), 24, address_class::documentation},
    {v4(192, 88, 99, 0), 24, address_class::six_to_four},
    {v4(192, 168, 0, 0), 16, address_class::private_},
    {v4(198, 18, 0, 0), 15, address_class::benchmarking},
    {v4(198, 51, 100, 0), 24, address_class::documentation},
    {v4(203, 0, 113, 0), 24, address_class::documentation},
    {v4(224, 0, 0, 0), 4, address_class::multicast},
    {v4(255, 255, 255, 255), 32, address_class::broadcast},
    {v4(240, 0, 0, 0), 4, address_class::reserved},
};

struct v6_range {
    std::uint64_t high;  // the first eight bytes; the others are zero
    int prefix;
    address_class kind;
};

constexpr v6_range v6_ranges[] = {
    {0, 96, address_class::v4_compatible},  // classify_v6() has handled :: and ::1 before
    {0x0064'ff9b'0000'0000, 96, address_class::nat64},
    {0x0064'ff9b'0001'0000, 48, address_class::nat64},
    {0x0100'0000'0000'0000, 64, address_class::discard},
    {0x2001'0000'0000'0000, 32, address_class::teredo},
    {0x2001'0002'0000'0000, 48, address_class::benchmarking},
    {0x2001'0db8'0000'0000, 32, address_class::documentation},
    {0x2001'0000'0000'0000, 23, address_class::protocol},
    {0x2002'0000'0000'0000, 16, address_class::six_to_four},
    {0x3fff'0000'0000'0000, 20, address_class::documentation},
    {0x2000'0000'0000'0000, 3, address_class::public_},
    {0xfc00'0000'0000'0000, 7, address_class::unique_local},
    {0xfe80'0000'0000'0000, 10, address_class::link_local},
    {0xfec0'0000'0000'0000, 10, address_class::site_local},
    {0xff00'0000'0000'0000, 8, address_class::multicast},
    {0, 0, address_class::reserved},
};

constexpr std::uint64_t high_bits(int count) noexcept {
    return count <= 0 ? 0 : count >= 64 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> count);
}

address_class classify_v4(std::uint32_t address) noexcept {
    for (const v4_range& each : v4_ranges) {
        if ((address ^ each.base) >> (32 - each.prefix) == 0) {
            return each.kind;
        }
    }
    return address_class::public_;
}

address_class classify_v6(std::uint64_t high, std::uint64_t low) noexcept {
    if (high == 0 && low <= 1) {
        return low == 0 ? address_class::unspecified : address_class::loopback;
    }
    for (const v6_range& each : v6_ranges) {
        if (((high ^ each.high) & high_bits(each.prefix)) == 0 &&
            (low & high_bits(each.prefix - 64)) == 0) {
            return each.kind;
        }
    }
    return address_class::reserved;
}

std::uint64_t number_of(const unsigned char* from, int bytes) noexcept {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
        value = value << 8 | from[i];
    }
    return value;
}

}  // namespace

address_class classify(const io::address& address) noexcept {
    switch (address.kind()) {
        case io::address::family::none:
            return address_class::none;
        case io::address::family::local:
            return address_class::local;
        default:
            break;
    }
    const address_bytes bytes(address);
    if (!bytes.is_v4) {
        return classify_v6(number_of(bytes.data.data(), 8), number_of(bytes.data.data() + 8, 8));
    }
    const auto inner =
        classify_v4(static_cast<std::uint32_t>(number_of(bytes.data.data() + 12, 4)));
    const bool is_mapped = address.kind() == io::address::family::ipv6;
    return is_mapped && inner == address_class::public_ ? address_class::v4_mapped : inner;
}

std::string_view name_of(address_class which) noexcept {
    constexpr std::array<std::string_view, 23> names = {
        "public",        "loopback",     "private",     "link-local",      "unique-local",
        "site-local",    "shared",       "unspecified", "multicast",       "broadcast",
        "documentation", "benchmarking", "protocol",    "platform",        "NAT64",
        "6to4",          "Teredo",       "IPv4-mapped", "IPv4-compatible", "discard",
        "reserved",      "local",        "no"};
    static_assert(names.size() == static_cast<std::size_t>(address_class::none) + 1);
    return names[static_cast<std::size_t>(which)];
}

}  // namespace weir::http
