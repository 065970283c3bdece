// SPDX-License-Identifier: MIT
// Text to addresses. Strict: the old short and octal forms of IPv4 addresses mean different things
// to different programs, and are refused.

#include <weir/error.hpp>
#include <weir/io/address.hpp>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace weir::io {

namespace {

constexpr std::string_view local_prefix = "unix:";

// A zero or another control character in it would spoil the message.
std::string printable(std::string_view text) {
    std::string shown(text);
    std::replace_if(
        shown.begin(), shown.end(), [](char each) { return each >= 0 && each < ' '; }, '?');
    return shown;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw invalid_argument("'" + printable(text) + "' is no address: " + why);
}

template <class Raw>
address made_of(const Raw& raw) noexcept {
    return address::from(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
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

// `text`: what it was a part of, for the message.
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
    refuse(text, "neither an IPv4 address such as 127.0.0.1 nor an IPv6 one such as ::1");
}

}  // namespace

address address::parse(std::string_view text) {
    if (text.starts_with(local_prefix)) {
        return local(text.substr(local_prefix.size()));
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        refuse(text, "a port is missing; write host:port, [ipv6]:port or unix:path");
    }
    const std::string_view host = text.substr(0, colon);
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) {
        refuse(text, "the port must be a number from 0 to 65535");
    }
    if (host.empty()) {
        return any(*port);
    }
    if (host.find(':') != std::string_view::npos && host.front() != '[') {
        refuse(text, "an IPv6 address with a port is written [address]:port");
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
        refuse(
            std::string(local_prefix) + std::string(path),
            "a Unix socket's path has 1 to " + std::to_string(sizeof raw.sun_path - 1) + " bytes");
    }
    if (path.find('\0') != std::string_view::npos) {
        refuse(std::string(local_prefix) + std::string(path), "its path has a zero byte in it");
    }
    std::memcpy(raw.sun_path, path.data(), path.size());
    const bool is_abstract = path.front() == '@';
    if (is_abstract) {
        raw.sun_path[0] = '\0';
    }
    return from(reinterpret_cast<const sockaddr*>(&raw),
                offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
}
}  // namespace weir::io
