// SPDX-License-Identifier: MIT
// Text is copied in runs; what needs an escape interrupts them.

#include "http/json/json_text.hpp"

#include <algorithm>
#include <cstddef>

namespace weir::http::detail {

namespace {

constexpr bool is_continuation(unsigned char byte) noexcept {
    return (byte & 0xc0) == 0x80;
}

constexpr bool is_plain(char character) noexcept {
    return character >= 0x20 && character < 0x7f && character != '"' && character != '\\';
}

void append_escape(std::string& to, char character) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::string_view named = "\"\\\n\r\t\b\f";
    constexpr std::string_view names = "\"\\nrtbf";
    if (const std::size_t index = named.find(character); index != std::string_view::npos) {
        to += '\\';
        to += names[index];
        return;
    }
    const auto code = static_cast<unsigned char>(character);
    to += "\\u00";
    to += digits[code >> 4];
    to += digits[code & 15];
}

}  // namespace

std::size_t character_size(std::string_view text) noexcept {
    const auto at = [&](std::size_t index) {
        return index < text.size() ? static_cast<unsigned char>(text[index])
                                   : static_cast<unsigned char>(0);
    };
    const unsigned char first = at(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return is_continuation(at(1)) ? 2 : 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
        // No overlong forms, no surrogates.
        const bool is_second = is_continuation(at(1)) && (first != 0xe0 || at(1) >= 0xa0) &&
                               (first != 0xed || at(1) < 0xa0);
        return is_second && is_continuation(at(2)) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool is_second = is_continuation(at(1)) && (first != 0xf0 || at(1) >= 0x90) &&
                               (first != 0xf4 || at(1) < 0x90);
        return is_second && is_continuation(at(2)) && is_continuation(at(3)) ? 4 : 0;
    }
    return 0;
}

void append_json_string(std::string& to, std::string_view text) {
    to += '"';
    while (!text.empty()) {
        const auto end = std::find_if_not(text.begin(), text.end(), is_plain);
        to.append(text.begin(), end);
        text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
        if (text.empty()) {
            break;
        }
        std::size_t taken = 1;
        if (static_cast<unsigned char>(text.front()) < 0x80) {
            append_escape(to, text.front());
        } else if (taken = character_size(text); taken != 0) {
            to += text.substr(0, taken);
        } else {
            to += "\\ufffd";
            taken = 1;
        }
        text.remove_prefix(taken);
    }
    to += '"';
}

}  // namespace weir::http::detail
