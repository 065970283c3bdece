// SPDX-License-Identifier: MIT
// Text from outside, made fit to be part of a message or of a URL, and numbers as hexadecimal text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::base {

inline void append_hex(std::string& to, char byte, std::string_view digits) {
    const auto code = static_cast<unsigned char>(byte);
    to += digits[code >> 4];
    to += digits[code & 15];
}

// All 16 digits, in lower case.
inline void append_hex(std::string& to, std::uint64_t number) {
    for (int shift = 60; shift >= 0; shift -= 4) {
        to += "0123456789abcdef"[(number >> shift) & 15];
    }
}

inline void append_percent(std::string& to, char byte) {
    to += '%';
    append_hex(to, byte, "0123456789ABCDEF");
}

// In quotes, cut to a length, and with control characters escaped for terminals and logs.
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
