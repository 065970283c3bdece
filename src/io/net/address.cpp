// SPDX-License-Identifier: MIT
// Addresses are kept as the operating system's own structures, which all fit in the storage: a copy
// is a copy of bytes, and system calls take them as they are. Parsing is strict: the old short and
// octal forms of IPv4 addresses mean different things to different programs, and are refused.

#include <weir/error.hpp>
#include <weir/io/address.hpp>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <ostream>

namespace weir::io {

namespace {

constexpr std::size_t path_offset = offsetof(sockaddr_un, sun_path);

template <class Raw>
address made_of(const Raw& raw) noexcept {
    return address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
}

// A copy of the structure: the bytes of the storage are not an object of that type.
template <class Raw>
Raw raw_of(const address& from) noexcept {
    Raw raw{};
    std::memcpy(&raw, from.data(), std::min(sizeof raw, from.size()));
    return raw;
}

constexpr std::string_view local_prefix = "unix:";

// For a message: without control characters.
std::string printable(std::string_view text) {
    std::string shown(text);
    std::replace_if(
        shown.begin(), shown.end(), [](char each) { return each >= 0 && each < ' '; }, '?');
    return shown;
}

[[noreturn]] void throw_bad_address(std::string_view text, const std::string& why) {
    throw invalid_argument("'" + printable(text) + "' is no address: " + why);
}

std::optional<std::uint16_t> parse_port(std::string_view digits) noexcept {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
        return std::nullopt;
    }
    return port;
}

std::optional<address> parse_v4(std::string_view host, std::uint16_t port) {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(port);
    if (::inet_pton(AF_INET, std::string(host).c_str(), &raw.sin_addr) != 1) {
        return std::nullopt;
    }
    return made_of(raw);
}

// A zone is the name of an interface or its number.
std::optional<std::uint32_t> parse_zone(const std::string& zone) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(zone.data(), zone.data() + zone.size(), number);
    if (error == std::errc() && end == zone.data() + zone.size()) {
        return number;
    }
    number = ::if_nametoindex(zone.c_str());
    return number == 0 ? std::nullopt : std::optional(number);
}

std::optional<address> parse_v6(std::string_view host, std::uint16_t port) {
    sockaddr_in6 raw{};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(port);
    if (const std::size_t percent = host.find('%'); percent != std::string_view::npos) {
        const auto zone = parse_zone(std::string(host.substr(percent + 1)));
        if (!zone) {
            return std::nullopt;
        }
        raw.sin6_scope_id = *zone;
        host = host.substr(0, percent);
    }
    if (::inet_pton(AF_INET6, std::string(host).c_str(), &raw.sin6_addr) != 1) {
        return std::nullopt;
    }
    return made_of(raw);
}

// `text`: the complete text, for the message.
address parse_host(std::string_view host, std::uint16_t port, std::string_view text) {
    std::string_view bare = host;
    const bool is_bracketed = bare.size() >= 2 && bare.front() == '[' && bare.back() == ']';
    if (is_bracketed) {
        bare = bare.substr(1, bare.size() - 2);
    }
    // A zero inside would end the text early for the system's functions.
    if (bare.find('\0') == std::string_view::npos) {
        if (auto v4 = parse_v4(bare, port); v4 && !is_bracketed) {
            return *v4;
        }
        if (const auto v6 = parse_v6(bare, port)) {
            return *v6;
        }
    }
    throw_bad_address(text,
                      "neither an IPv4 address such as 127.0.0.1 nor an IPv6 one such as ::1");
}

}  // namespace

address address::parse(std::string_view text) {
    if (text.starts_with(local_prefix)) {
        return local(text.substr(local_prefix.size()));
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        throw_bad_address(text, "a port is missing; write host:port, [ipv6]:port or unix:path");
    }
    const std::string_view host = text.substr(0, colon);
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) {
        throw_bad_address(text, "the port must be a number from 0 to 65535");
    }
    if (host.empty()) {
        return any_v6(*port);
    }
    if (host.find(':') != std::string_view::npos && host.front() != '[') {
        throw_bad_address(text, "an IPv6 address with a port is written [address]:port");
    }
    return parse_host(host, *port, text);
}

address address::parse(std::string_view host, std::uint16_t port) {
    return parse_host(host, port, host);
}

address address::local(std::string_view path) {
    sockaddr_un raw{};
    raw.sun_family = AF_UNIX;
    // A path keeps its final zero; an abstract name, which starts with one, does not.
    if (path.empty() || path.size() >= sizeof raw.sun_path) {
        throw_bad_address(
            std::string(local_prefix) + std::string(path),
            "a Unix socket's path has 1 to " + std::to_string(sizeof raw.sun_path - 1) + " bytes");
    }
    if (path.find('\0') != std::string_view::npos) {
        throw_bad_address(std::string(local_prefix) + std::string(path),
                          "its path has a zero byte in it");
    }
    std::memcpy(raw.sun_path, path.data(), path.size());
    const bool is_abstract = path.front() == '@';
    if (is_abstract) {
        raw.sun_path[0] = '\0';
    }
    return from(reinterpret_cast<const sockaddr*>(&raw),
                offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
}

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
    // `size` may be that of a larger structure. Only the used bytes are kept, since addresses are
    // compared byte by byte.
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

bool address::is_any() const noexcept {
    if (kind() == family::ipv4) {
        return raw_of<sockaddr_in>(*this).sin_addr.s_addr == htonl(INADDR_ANY);
    }
    const in6_addr raw = raw_of<sockaddr_in6>(*this).sin6_addr;
    return kind() == family::ipv6 && IN6_IS_ADDR_UNSPECIFIED(&raw);
}

address address::unmapped() const noexcept {
    const auto mapped = raw_of<sockaddr_in6>(*this);
    if (kind() != family::ipv6 || !IN6_IS_ADDR_V4MAPPED(&mapped.sin6_addr)) {
        return *this;
    }
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = mapped.sin6_port;
    std::memcpy(&raw.sin_addr, mapped.sin6_addr.s6_addr + 12, sizeof raw.sin_addr);
    return made_of(raw);
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
