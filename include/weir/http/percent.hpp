// SPDX-License-Identifier: MIT
// Percent-encoding of bytes that are reserved or not allowed in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

// Characters that are never encoded: letters, digits, '-', '.', '_', '~'.
constexpr bool is_unreserved(char letter) noexcept {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_' ||
           letter == '~';
}

// 'a b/c' becomes 'a%20b%2Fc', for one path segment, or one name or value of a query.
std::string encode_component(std::string_view text);

// 'a%20b' becomes 'a b'; a plus stays a plus. Throws invalid_argument with the text if a percent
// sign is not followed by two hexadecimal digits. The result may contain NUL and line ends.
std::string percent_decode(std::string_view text);
// None instead of an error. `plus_is_blank`: a plus becomes a space, as in forms and queries.
std::optional<std::string> try_percent_decode(std::string_view text, bool plus_is_blank = false);

}  // namespace weir::http
