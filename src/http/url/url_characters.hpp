// SPDX-License-Identifier: MIT
// What each character is in a URL: a delimiter, or one that a part has to encode.
#pragma once

#include "base/quoted.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http::detail {

// The sets that characters are in, as bits.
namespace url_set {
// To encode in this part: what the WHATWG URL standard encodes there, and in addition the
// characters that RFC 3986 does not allow and browsers send as they are: \ ^ ` { | }.
inline constexpr std::uint8_t path = 1;
inline constexpr std::uint8_t query = 2;
inline constexpr std::uint8_t fragment = 4;
inline constexpr std::uint8_t credentials = 8;
// Delimiters.
inline constexpr std::uint8_t slash = 16;     // '/' and '\'
inline constexpr std::uint8_t path_end = 32;  // '?' and '#'
// Tabs and line ends, which are dropped from references.
inline constexpr std::uint8_t dropped = 64;
}  // namespace url_set

inline constexpr std::array<std::uint8_t, 256> url_sets = [] {
    constexpr std::uint8_t encoded_everywhere =
        url_set::path | url_set::query | url_set::fragment | url_set::credentials;
    std::array<std::uint8_t, 256> sets{};
    const auto add = [&](std::string_view characters, std::uint8_t set) {
        for (const char each : characters) {
            sets[static_cast<unsigned char>(each)] |= set;
        }
    };
    for (std::size_t byte = 0; byte < sets.size(); ++byte) {
        sets[byte] = byte <= 0x20 || byte >= 0x7f ? encoded_everywhere : std::uint8_t{0};
    }
    add("\"<>\\^`{|}", encoded_everywhere);
    add("/:;=@[]?#", url_set::credentials);
    add("'", url_set::query);
    add("/\\", url_set::slash);
    add("?#", url_set::path_end);
    add("\t\n\r", url_set::dropped);
    return sets;
}();

constexpr bool is_in(char letter, std::uint8_t set) noexcept {
    return (url_sets[static_cast<unsigned char>(letter)] & set) != 0;
}

// The sets that any of the characters is in.
constexpr std::uint8_t url_sets_of(std::string_view text) noexcept {
    std::uint8_t sets = 0;
    for (const char each : text) {
        sets |= url_sets[static_cast<unsigned char>(each)];
    }
    return sets;
}

// Where the first character of the set is; the size of the text if it has none.
constexpr std::size_t find_url_set(std::string_view text, std::uint8_t set) noexcept {
    std::size_t at = 0;
    while (at < text.size() && !is_in(text[at], set)) {
        ++at;
    }
    return at;
}

// Appends the text with the characters of the set encoded.
inline void append_url_encoded(std::string& to, std::string_view text, std::uint8_t set) {
    std::size_t begin = 0;  // of the characters that are not yet written
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_in(text[i], set)) {
            to.append(text, begin, i - begin);
            base::append_percent(to, text[i]);
            begin = i + 1;
        }
    }
    to.append(text, begin);
}

}  // namespace weir::http::detail
