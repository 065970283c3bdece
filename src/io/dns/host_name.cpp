// SPDX-License-Identifier: MIT
// A name is checked before it reaches c-ares, which takes a backslash as an escape and ends at a
// zero byte: the question on the wire is for the caller's name, or no question is sent.

#include "io/dns/host_name.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace weir::dns::detail {

namespace {

constexpr std::size_t longest_label = 63;

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

[[noreturn]] void throw_bad_name(std::string_view name, const std::string& why) {
    throw resolve_error("cannot resolve '" + shown(name) + "': " + why);
}

void check_label(std::string_view name, std::string_view label) {
    if (label.empty()) {
        throw_bad_name(name, "a part between two dots is empty");
    }
    if (label.size() > longest_label) {
        throw_bad_name(name, "a part of it has " + std::to_string(label.size()) +
                                 " characters, more than " + std::to_string(longest_label));
    }
}

bool ends_with_label(std::string_view name, std::string_view label) noexcept {
    if (name.ends_with('.')) {
        name.remove_suffix(1);
    }
    return name.ends_with(label) &&
           (name.size() == label.size() || name[name.size() - label.size() - 1] == '.');
}

}  // namespace

std::string shown(std::string_view text) {
    constexpr std::size_t most = 100;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string made;
    for (const char each : text.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(each);
        if (byte >= 0x20 && byte < 0x7f) {
            made += each;
        } else {
            made += "\\x";
            made += digits[byte >> 4];
            made += digits[byte & 15];
        }
    }
    return text.size() > most ? made + "..." : made;
}

std::string check_host_name(std::string_view name) {
    if (name.empty()) {
        throw_bad_name(name, "the name is empty");
    }
    std::string_view bare = name;
    if (bare.ends_with('.')) {
        bare.remove_suffix(1);
    }
    if (bare.size() > longest_host_name) {
        throw_bad_name(name, "it has " + std::to_string(bare.size()) + " characters, more than " +
                                 std::to_string(longest_host_name));
    }
    std::string made;
    made.reserve(name.size());
    std::size_t label_begin = 0;
    for (std::size_t at = 0; at < bare.size(); ++at) {
        const char c = bare[at];
        if (c == '.') {
            check_label(name, bare.substr(label_begin, at - label_begin));
            label_begin = at + 1;
        } else if (c >= 'A' && c <= 'Z') {
            made += static_cast<char>(c - 'A' + 'a');
            continue;
        } else if (static_cast<unsigned char>(c) >= 0x80) {
            throw_bad_name(name, "it is not ASCII; write an international name in its xn-- form");
        } else if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '-' && c != '_') {
            throw_bad_name(
                name, "'" + shown(std::string_view(&c, 1)) + "' cannot be part of a host name");
        }
        made += c;
    }
    const std::string_view last = bare.substr(label_begin);
    check_label(name, last);
    if (last.find_first_not_of("0123456789") == std::string_view::npos) {
        throw_bad_name(name, "it is neither a name nor an address written in full");
    }
    if (name.size() != bare.size()) {
        made += '.';
    }
    return made;
}

bool is_localhost(std::string_view checked) noexcept {
    return ends_with_label(checked, "localhost");
}

bool is_never_found(std::string_view checked) noexcept {
    return ends_with_label(checked, "invalid") || ends_with_label(checked, "onion");
}

std::uint16_t port_of(std::string_view service) {
    static constexpr std::array<std::pair<std::string_view, std::uint16_t>, 20> known{
        {{"http", 80},    {"https", 443},       {"ws", 80},      {"wss", 443},   {"ftp", 21},
         {"ssh", 22},     {"smtp", 25},         {"smtps", 465},  {"imap", 143},  {"imaps", 993},
         {"pop3", 110},   {"submission", 587},  {"domain", 53},  {"ldap", 389},  {"ldaps", 636},
         {"mysql", 3306}, {"postgresql", 5432}, {"redis", 6379}, {"amqp", 5672}, {"mqtt", 1883}}};
    std::uint16_t port = 0;
    const char* const end = service.data() + service.size();
    const auto [parsed, error] = std::from_chars(service.data(), end, port);
    if (!service.empty() && error == std::errc() && parsed == end) {
        return port;
    }
    for (const auto& [name, number] : known) {
        if (service == name) {
            return number;
        }
    }
    throw invalid_argument(
        "'" + shown(service) +
        "' is not a port: give a number from 0 to 65535, or a name such as https");
}

host_and_port split_host_and_port(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || text.ends_with(']')) {
        throw invalid_argument("'" + shown(text) +
                               "' has no port; write host:port, [ipv6]:port or unix:path");
    }
    const std::string_view host = text.substr(0, colon);
    if (host.empty()) {
        throw invalid_argument("'" + shown(text) + "' has no host; write host:port");
    }
    if (host.find(':') != std::string_view::npos && host.front() != '[') {
        throw invalid_argument("'" + shown(text) +
                               "': an IPv6 address with a port is written [address]:port");
    }
    return {host, text.substr(colon + 1)};
}

}  // namespace weir::dns::detail
