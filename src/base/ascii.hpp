// SPDX-License-Identifier: MIT
// What the grammars of HTTP and of URLs are made of. No locale has a say in it.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::base {

constexpr bool is_decimal(char letter) noexcept {
    return letter >= '0' && letter <= '9';
}

// The value of a hexadecimal digit; -1 if it is none.
constexpr int hex_digit_of(char letter) noexcept {
    if (is_decimal(letter)) {
        return letter - '0';
    }
    const char lower = static_cast<char>(letter | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Without the blanks and tabs at its ends.
constexpr std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace weir::base
