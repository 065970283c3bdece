// SPDX-License-Identifier: MIT
// Plain ASCII is copied in runs; characters that need an escape interrupt them.

#include "base/json_text.hpp"

#include "base/quoted.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <cstddef>

namespace weir::base {

namespace {

constexpr bool is_plain(char character) noexcept {
    return character >= 0x20 && character < 0x7f && character != '"' && character != '\\';
}

void append_escape(std::string& to, char character) {
    constexpr std::string_view named = "\"\\\n\r\t\b\f";
    constexpr std::string_view names = "\"\\nrtbf";
    if (const std::size_t index = named.find(character); index != std::string_view::npos) {
        to += '\\';
        to += names[index];
        return;
    }
    to += "\\u00";
    append_hex(to, character, "0123456789abcdef");
}

}  // namespace

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
        } else if (taken = utf8_character_size(text); taken != 0) {
            to += text.substr(0, taken);
        } else {
            to += "\\ufffd";
            taken = 1;
        }
        text.remove_prefix(taken);
    }
    to += '"';
}

}  // namespace weir::base
