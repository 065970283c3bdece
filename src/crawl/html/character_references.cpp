// SPDX-License-Identifier: MIT
// The states 'character reference' to 'numeric character reference end' of the HTML standard, run
// over a complete value: a reference never contains the character that ends a value, so decoding
// after the end gives what decoding on the way gives.

#include "crawl/html/character_references.hpp"

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "crawl/encoding/windows_1252.hpp"
#include "crawl/html/named_references.hpp"

#include <algorithm>
#include <cstddef>

namespace weir::crawl::detail {
namespace {

char32_t character_of_number(char32_t number) noexcept {
    if (number == 0) {
        return 0xFFFD;
    }
    // Numbers of control characters mean what windows-1252 has at these places.
    return number >= 0x80 && number <= 0x9F
               ? windows_1252_character(static_cast<unsigned char>(number))
               : number;
}

// Decodes a reference at the start of `raw`, which begins with '&#', and gives its size; 0: none.
std::size_t decode_number(std::string_view raw, std::string& to) {
    std::size_t at = 2;
    const bool is_hexadecimal = at < raw.size() && (raw[at] == 'x' || raw[at] == 'X');
    at += is_hexadecimal ? 1 : 0;
    const std::size_t first = at;
    char32_t number = 0;
    for (; at < raw.size(); ++at) {
        const int digit = base::hex_digit_of(raw[at]);
        if (digit < 0 || (digit > 9 && !is_hexadecimal)) {
            break;
        }
        const char32_t next = number * (is_hexadecimal ? 16 : 10) + static_cast<char32_t>(digit);
        number = std::min<char32_t>(next, 0x110000);
    }
    if (at == first) {
        return 0;
    }
    base::append_utf8(to, character_of_number(number));
    return at < raw.size() && raw[at] == ';' ? at + 1 : at;
}

// The same for a name after '&'.
std::size_t decode_name(std::string_view raw, reference_context context, std::string& to) {
    bool has_semicolon = false;
    const named_reference* known = longest_named_reference(raw.substr(1), has_semicolon);
    if (known == nullptr) {
        return 0;
    }
    const std::size_t size = 1 + known->name.size() + (has_semicolon ? 1 : 0);
    if (!has_semicolon && context == reference_context::attribute && size < raw.size() &&
        (raw[size] == '=' || base::is_alphanumeric(raw[size]))) {
        return 0;
    }
    base::append_utf8(to, known->first);
    if (known->second != 0) {
        base::append_utf8(to, known->second);
    }
    return size;
}

// The first of '&', CR and NUL.
std::size_t find_special(std::string_view raw) noexcept {
    std::size_t at = 0;
    while (at < raw.size() && raw[at] != '&' && raw[at] != '\r' && raw[at] != '\0') {
        ++at;
    }
    return at;
}

}  // namespace

std::string decode_references(std::string_view raw, reference_context context) {
    std::size_t next = find_special(raw);
    std::string decoded(raw.substr(0, next));
    while (next < raw.size()) {
        raw.remove_prefix(next);
        std::size_t used = 1;
        if (raw[0] == '\0') {
            decoded += base::replacement_character;
        } else if (raw[0] == '\r') {
            decoded += '\n';
            used += raw.size() > 1 && raw[1] == '\n' ? 1 : 0;
        } else {
            used = raw.size() > 1 && raw[1] == '#' ? decode_number(raw, decoded)
                                                   : decode_name(raw, context, decoded);
            if (used == 0) {
                decoded += '&';
                used = 1;
            }
        }
        raw.remove_prefix(used);
        next = find_special(raw);
        decoded += raw.substr(0, next);
    }
    return decoded;
}

}  // namespace weir::crawl::detail
