// SPDX-License-Identifier: MIT
// An IP address as 16 bytes. IPv4 addresses have the IPv4-mapped form, ::ffff:a.b.c.d.
#pragma once

#include <weir/io/address.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weir::http::detail {

struct address_bytes {
    explicit address_bytes(const io::address& from) noexcept {
        if (from.kind() == io::address::family::ipv4) {
            sockaddr_in raw{};
            std::memcpy(&raw, from.data(), std::min(sizeof raw, from.size()));
            data[10] = data[11] = 0xff;
            std::memcpy(data.data() + 12, &raw.sin_addr, 4);
            is_v4 = true;
        } else if (from.kind() == io::address::family::ipv6) {
            sockaddr_in6 raw{};
            std::memcpy(&raw, from.data(), std::min(sizeof raw, from.size()));
            std::memcpy(data.data(), &raw.sin6_addr, data.size());
            is_v4 = IN6_IS_ADDR_V4MAPPED(&raw.sin6_addr) != 0;
        }
    }

    std::array<unsigned char, 16> data{};
    bool is_v4 = false;
};

}  // namespace weir::http::detail
