// SPDX-License-Identifier: MIT
// Characters and lists in the grammars of HTTP and of URLs, whatever the locale is.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::base {

constexpr bool is_decimal(char letter) noexcept {
    return letter >= '0' && letter <= '9';
}

constexpr bool is_letter(char letter) noexcept {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

constexpr bool is_alphanumeric(char letter) noexcept {
    return is_letter(letter) || is_decimal(letter);
}

// The value of a hexadecimal digit; -1 for any other character.
constexpr int hex_digit_of(char letter) noexcept {
    if (is_decimal(letter)) {
        return letter - '0';
    }
    const char lower = static_cast<char>(letter | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The text without the blanks and tabs at its ends.
constexpr std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Calls visit with each element of a comma-separated list, trimmed; empty ones included.
template <class Visit>
constexpr void for_each_element(std::string_view list, Visit visit) {
    for (;;) {
        const std::size_t comma = list.find(',');
        visit(trimmed(list.substr(0, comma)));
        if (comma == std::string_view::npos) {
            return;
        }
        list.remove_prefix(comma + 1);
    }
}

}  // namespace weir::base
