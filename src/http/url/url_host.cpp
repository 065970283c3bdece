// SPDX-License-Identifier: MIT
// The host parser of the WHATWG URL standard: percent-decoding, then IDNA, then IPv4 addresses in
// all their spellings. Names are limited to what DNS can hold and what hosts are called.
//
// libidn2 converts names in other scripts, non-transitional as browsers do: 'faß.de' is
// 'xn--fa-hia.de'. It maps full-width and circled digits to plain ones, and some letters even to
// slashes: the host is checked after the conversion, not before. Where libidn2 cannot decide as the
// standard does (symbols such as hearts, which IDNA 2008 does not allow), the host is invalid.

#include "http/url/url_host.hpp"

#include "base/ascii.hpp"
#include "base/quoted.hpp"
#include "base/utf8.hpp"
#include "http/message/parameters.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>
#include <weir/io/address.hpp>

#include <idn2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace weir::http::detail {

namespace {

struct idn_text_cleaner {
    void operator()(char* text) const noexcept { idn2_free(text); }
};

bool refuse_host(std::string& reason, std::string text) {
    reason = std::move(text);
    return false;
}

bool is_ascii(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(),
                       [](char each) { return static_cast<unsigned char>(each) < 0x80; });
}

// Unicode 15.1 maps the capital sharp s to the small one; libidn2 may still map it to 'ss'.
void lower_sharp_s(std::string& host) {
    constexpr std::string_view capital = "\u1e9e";
    for (std::size_t at = 0; (at = host.find(capital, at)) != std::string::npos;) {
        host.replace(at, capital.size(), "\u00df");
    }
}

// Replaces a name in another script by its form in ASCII.
bool convert_to_ascii(std::string& host, std::string& reason) {
    const auto refuse = [&](std::string_view why) {
        return refuse_host(reason, "its host cannot be written in ASCII: " + std::string(why));
    };
    if (!base::is_utf8(host)) {
        return refuse("it is not UTF-8");
    }
    // What may become 253 characters. The conversion takes 30 us for so many bytes.
    if (constexpr std::size_t longest = 1024; host.size() > longest) {
        return refuse_host(reason, "its host has more than 253 characters");
    }
    if (host.find('\0') != std::string::npos) {
        return refuse("it contains a zero byte");
    }
    lower_sharp_s(host);
    char* raw = nullptr;
    const int code = idn2_to_ascii_8z(host.c_str(), &raw, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    const std::unique_ptr<char, idn_text_cleaner> converted(raw);
    if (code == IDN2_MALLOC) {
        throw std::bad_alloc();
    }
    if (code != IDN2_OK) {
        return refuse(idn2_strerror(code));
    }
    host = converted.get();
    return is_ascii(host) || refuse("it has letters that no domain name can have");
}

bool check_name(std::string_view host, std::string& reason) {
    constexpr std::size_t longest_name = 253;
    constexpr std::size_t longest_label = 63;
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    if (host.empty() || host.size() > longest_name) {
        return refuse_host(
            reason, host.empty() ? "it has no host" : "its host has more than 253 characters");
    }
    std::size_t label = 0;
    for (const char each : host) {
        if (!is_unreserved(each) || each == '~') {
            return refuse_host(reason, "its host contains " + base::quoted({&each, 1}));
        }
        label = each == '.' ? 0 : label + 1;
        if (label > longest_label) {
            return refuse_host(reason, "a label of its host has more than 63 characters");
        }
    }
    if (host.front() == '.' || host.back() == '.' || host.find("..") != std::string_view::npos) {
        return refuse_host(reason, "a label of its host is empty");
    }
    return true;
}

// A number of an IPv4 address: decimal, octal after '0' or hexadecimal after '0x'. None if it is
// not a number, or more than 32 bits.
std::optional<std::uint64_t> number_of_ipv4(std::string_view text) noexcept {
    unsigned radix = 10;
    if (text.starts_with("0x")) {
        radix = 16;
        text.remove_prefix(2);
    } else if (text.starts_with('0')) {
        radix = 8;
    } else if (text.empty()) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    for (const char each : text) {
        const int digit = base::hex_digit_of(each);
        if (digit < 0 || static_cast<unsigned>(digit) >= radix || number > 0xffffffff) {
            return std::nullopt;
        }
        number = number * radix + static_cast<unsigned>(digit);
    }
    return number <= 0xffffffff ? std::optional(number) : std::nullopt;
}

bool ends_in_number(std::string_view host) noexcept {
    const std::string_view last = host.substr(host.rfind('.') + 1);
    return !last.empty() &&
           (std::all_of(last.begin(), last.end(), base::is_decimal) ||
            (last.starts_with("0x") &&
             last.find_first_not_of("0123456789abcdef", 2) == std::string_view::npos));
}

// The last of up to four numbers fills all the bytes that are left.
std::optional<std::uint32_t> parse_ipv4(std::string_view host) noexcept {
    std::uint64_t address = 0;
    for (unsigned bytes_left = 4; bytes_left > 0; --bytes_left) {
        const std::size_t dot = host.find('.');
        const std::optional<std::uint64_t> number = number_of_ipv4(host.substr(0, dot));
        const bool is_last = dot == std::string_view::npos;
        const unsigned bits = is_last ? 8 * bytes_left : 8;
        if (!number || (*number >> bits) != 0) {
            return std::nullopt;
        }
        address = (address << bits) | *number;
        if (is_last) {
            return static_cast<std::uint32_t>(address);
        }
        host.remove_prefix(dot + 1);
    }
    return std::nullopt;  // more than four numbers
}

void append_ipv4(std::string& to, std::uint32_t address) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        to += std::to_string((address >> shift) & 255);
        if (shift > 0) {
            to += '.';
        }
    }
}

bool write_ipv6(std::string_view host, std::string& to, std::string& reason) {
    if (host.find('%') != std::string_view::npos) {
        return refuse_host(reason, "its host has a zone, which is meaningful on one machine only");
    }
    try {
        const io::address read = io::address::parse(host, 0);
        if (read.kind() == io::address::family::ipv6) {
            ((to += '[') += read.host()) += ']';
            return true;
        }
    } catch (const invalid_argument&) {
    }
    return refuse_host(reason, "its host is not an IPv6 address");
}

}  // namespace

bool write_host(std::string_view host, std::string& to, bool& is_ip_literal, std::string& reason) {
    is_ip_literal = host.starts_with('[');
    if (is_ip_literal) {
        return write_ipv6(host, to, reason);
    }
    std::optional<std::string> name = try_percent_decode(host);
    if (!name) {
        return refuse_host(reason, "its host has invalid percent-encoding");
    }
    if (!is_ascii(*name) && !convert_to_ascii(*name, reason)) {
        return false;
    }
    *name = lower_case(*name);
    if (!check_name(*name, reason)) {
        return false;
    }
    const std::string_view undotted(name->data(), name->size() - (name->ends_with('.') ? 1 : 0));
    is_ip_literal = ends_in_number(undotted);
    if (!is_ip_literal) {
        to += *name;
        return true;
    }
    const std::optional<std::uint32_t> address = parse_ipv4(undotted);
    if (!address) {
        return refuse_host(reason, "its host ends in a number and is not an IPv4 address");
    }
    append_ipv4(to, *address);
    return true;
}

}  // namespace weir::http::detail
