// SPDX-License-Identifier: MIT
// Addresses are kept as the operating system's own structures, which all fit in the storage: a copy
// is a copy of bytes, and a system call takes them as they are.

#include <weir/io/address.hpp>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ostream>

namespace weir::io {

namespace {

constexpr std::size_t path_offset = offsetof(sockaddr_un, sun_path);

template <class Raw>
address made_of(const Raw& raw) noexcept {
    return address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
}

// The structure itself, copied out: storage of bytes is not an object of that type.
template <class Raw>
Raw raw_of(const address& from) noexcept {
    Raw raw{};
    std::memcpy(&raw, from.data(), std::min(sizeof raw, from.size()));
    return raw;
}

}  // namespace

address address::loopback(std::uint16_t port) noexcept {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(port);
    raw.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return made_of(raw);
}

address address::any(std::uint16_t port) noexcept {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(port);
    return made_of(raw);
}

address address::loopback_v6(std::uint16_t port) noexcept {
    sockaddr_in6 raw{};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(port);
    raw.sin6_addr = in6addr_loopback;
    return made_of(raw);
}

address address::any_v6(std::uint16_t port) noexcept {
    sockaddr_in6 raw{};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(port);
    return made_of(raw);
}

address address::from(const sockaddr* raw, std::size_t size) noexcept {
    address made;
    if (raw == nullptr || size < sizeof(sa_family_t)) {
        return made;
    }
    // The size may be that of a larger structure. What is used of it is compared later, byte by
    // byte.
    const bool is_v4 = raw->sa_family == AF_INET;
    const bool is_v6 = raw->sa_family == AF_INET6;
    const bool is_local = raw->sa_family == AF_UNIX;
    const std::size_t used = is_v4   ? offsetof(sockaddr_in, sin_zero)
                             : is_v6 ? sizeof(sockaddr_in6)
                                     : std::min(size, sizeof(sockaddr_un));
    const bool is_whole = size >= (is_v4 ? sizeof(sockaddr_in) : used);
    if (is_whole && (is_v4 || is_v6 || (is_local && size > path_offset))) {
        std::memcpy(made.storage_, raw, used);
        made.size_ = static_cast<std::uint16_t>(is_v4 ? sizeof(sockaddr_in) : used);
    }
    return made;
}

address::family address::kind() const noexcept {
    if (size_ == 0) {
        return family::none;
    }
    switch (raw_of<sockaddr>(*this).sa_family) {
        case AF_INET:
            return family::ipv4;
        case AF_INET6:
            return family::ipv6;
        default:
            return family::local;
    }
}

bool address::is_loopback() const noexcept {
    constexpr unsigned char loopback_net = 127;
    switch (kind()) {
        case family::ipv4:
            return ntohl(raw_of<sockaddr_in>(*this).sin_addr.s_addr) >> 24 == loopback_net;
        case family::ipv6: {
            const in6_addr raw = raw_of<sockaddr_in6>(*this).sin6_addr;
            return IN6_IS_ADDR_LOOPBACK(&raw) ||
                   (IN6_IS_ADDR_V4MAPPED(&raw) && raw.s6_addr[12] == loopback_net);
        }
        case family::local:
            return true;
        case family::none:
            break;
    }
    return false;
}

// The port is at the same place in both families.
std::uint16_t address::port() const noexcept {
    return is_ip() ? ntohs(raw_of<sockaddr_in>(*this).sin_port) : std::uint16_t{0};
}

address address::with_port(std::uint16_t port) const noexcept {
    address changed = *this;
    if (is_ip()) {
        const in_port_t raw = htons(port);
        std::memcpy(changed.storage_ + offsetof(sockaddr_in, sin_port), &raw, sizeof raw);
    }
    return changed;
}

std::string address::host() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (kind() == family::ipv4) {
        const auto raw = raw_of<sockaddr_in>(*this);
        return ::inet_ntop(AF_INET, &raw.sin_addr, text.data(), text.size());
    }
    if (kind() != family::ipv6) {
        return {};
    }
    const auto raw = raw_of<sockaddr_in6>(*this);
    std::string host = ::inet_ntop(AF_INET6, &raw.sin6_addr, text.data(), text.size());
    if (raw.sin6_scope_id != 0) {
        std::array<char, IF_NAMESIZE> name{};
        const char* known = ::if_indextoname(raw.sin6_scope_id, name.data());
        host += '%' + (known != nullptr ? std::string(known) : std::to_string(raw.sin6_scope_id));
    }
    return host;
}

std::string address::path() const {
    if (kind() != family::local) {
        return {};
    }
    const auto raw = raw_of<sockaddr_un>(*this);
    const std::size_t length = size_ - path_offset;
    if (raw.sun_path[0] == '\0') {
        return '@' + std::string(raw.sun_path + 1, length - 1);
    }
    return {raw.sun_path, ::strnlen(raw.sun_path, length)};
}

std::string address::text() const {
    switch (kind()) {
        case family::ipv4:
            return host() + ':' + std::to_string(port());
        case family::ipv6:
            return '[' + host() + "]:" + std::to_string(port());
        case family::local:
            return "unix:" + path();
        case family::none:
            break;
    }
    return "unnamed";
}

bool operator==(const address& a, const address& b) noexcept {
    return (a <=> b) == std::strong_ordering::equal;
}

std::strong_ordering operator<=>(const address& a, const address& b) noexcept {
    const int order = std::memcmp(a.storage_, b.storage_, std::min(a.size_, b.size_));
    return order != 0 ? order <=> 0 : a.size_ <=> b.size_;
}

std::ostream& operator<<(std::ostream& out, const address& shown) {
    return out << shown.text();
}

}  // namespace weir::io
