// SPDX-License-Identifier: MIT
// The check skips ASCII eight bytes at a time. The first byte of any other character says how many
// bytes follow and which values the second may have; the rest are 80 to BF.

#include "base/utf8.hpp"

#include <cstring>

namespace weir::base {

bool utf8_check::feed(std::span<const std::byte> piece) noexcept {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    const std::byte* at = piece.data();
    const std::byte* const end = at + piece.size();
    while (is_valid_ && at != end) {
        if (missing_ == 0) {
            std::uint64_t eight = 0;
            while (end - at >= 8 && (std::memcpy(&eight, at, 8), (eight & high_bits) == 0)) {
                at += 8;
            }
            if (at == end) {
                break;
            }
        }
        const auto byte = std::to_integer<std::uint8_t>(*at++);
        if (missing_ > 0) {
            is_valid_ = byte >= lowest_ && byte <= highest_;
            --missing_;
            lowest_ = 0x80;
            highest_ = 0xBF;
        } else if (byte >= 0x80) {
            is_valid_ = byte >= 0xC2 && byte <= 0xF4;
            missing_ = static_cast<std::uint8_t>(byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3);
            lowest_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
            highest_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
        }
    }
    return is_valid_;
}

std::size_t utf8_character_size(std::string_view text) noexcept {
    utf8_check check;
    for (std::size_t size = 1; size <= text.size(); ++size) {
        if (!check.feed(std::as_bytes(std::span(text.substr(size - 1, 1))))) {
            return 0;
        }
        if (check.is_complete()) {
            return size;
        }
    }
    return 0;
}

void append_utf8(std::string& to, char32_t code) {
    if ((code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) {
        to += replacement_character;
    } else if (code < 0x80) {
        to += static_cast<char>(code);
    } else {
        int continuations = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        constexpr unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
        to += static_cast<char>(leads[continuations] | (code >> (6 * continuations)));
        while (continuations-- > 0) {
            to += static_cast<char>(0x80 | ((code >> (6 * continuations)) & 0x3F));
        }
    }
}

}  // namespace weir::base
