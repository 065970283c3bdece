// SPDX-License-Identifier: MIT
// Writes strings and numbers as JSON text, for code that needs no JSON library.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace weir::base {

// Appends the text as a JSON string, with quotes. Bytes that are not UTF-8 become U+FFFD, since the
// text may come from a client.
void append_json_string(std::string& to, std::string_view text);

// Appends the fewest digits that mean this number: '7', '0.5', '1e+30'. Must be finite.
template <class Number>
    requires std::integral<Number> || std::floating_point<Number>
void append_number(std::string& to, Number value) {
    char digits[40];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace weir::base
