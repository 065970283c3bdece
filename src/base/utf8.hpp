// SPDX-License-Identifier: MIT
// Checks that bytes are UTF-8, in one piece or piece by piece as they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::base {

class utf8_check {
public:
    // False once the bytes so far cannot be the beginning of UTF-8; every later call is false too.
    bool feed(std::span<const std::byte> piece) noexcept;
    // True if the bytes so far are UTF-8 and end with a complete character.
    bool is_complete() const noexcept { return is_valid_ && missing_ == 0; }
    void reset() noexcept { *this = {}; }

private:
    std::uint8_t missing_ = 0;  // bytes that the current character still needs
    // The range of the next byte: the second byte of a character excludes overlong forms,
    // surrogates and code points above U+10FFFF.
    std::uint8_t lowest_ = 0x80;
    std::uint8_t highest_ = 0xBF;
    bool is_valid_ = true;
};

inline bool is_utf8(std::string_view text) noexcept {
    utf8_check check;
    return check.feed(std::as_bytes(std::span(text))) && check.is_complete();
}

// The number of bytes of the text's first character; 0 if the text does not begin with UTF-8.
std::size_t utf8_character_size(std::string_view text) noexcept;

// U+FFFD, which stands for what cannot be decoded.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

// Appends a code point as UTF-8; surrogates and values above U+10FFFF as U+FFFD.
void append_utf8(std::string& to, char32_t code);

}  // namespace weir::base
