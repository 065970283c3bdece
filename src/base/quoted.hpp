// SPDX-License-Identifier: MIT
// Text from elsewhere, fit to be part of a message or of a URL.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::base {

inline void append_hex(std::string& to, char byte, std::string_view digits) {
    const auto code = static_cast<unsigned char>(byte);
    to += digits[code >> 4];
    to += digits[code & 15];
}

inline void append_percent(std::string& to, char byte) {
    to += '%';
    append_hex(to, byte, "0123456789ABCDEF");
}

// In quotes, cut to a length, and without what would make a mess of a terminal or a log.
inline std::string quoted(std::string_view text, std::size_t longest = 120) {
    std::string shown = "'";
    for (const char each : text.substr(0, longest)) {
        const auto code = static_cast<unsigned char>(each);
        if (code < 0x20 || code == 0x7f) {
            shown += "\\x";
            append_hex(shown, each, "0123456789abcdef");
        } else {
            shown += each;
        }
    }
    return shown + (text.size() > longest ? "...'" : "'");
}

}  // namespace weir::base
