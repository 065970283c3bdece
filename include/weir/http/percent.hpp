// SPDX-License-Identifier: MIT
// Percent-encoding: how bytes that mean something else, or nothing, are written in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

// What may stand anywhere in a URL without meaning anything: letters, digits, '-', '.', '_', '~'.
constexpr bool is_unreserved(char letter) noexcept {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_' ||
           letter == '~';
}

// 'a b/c' becomes 'a%20b%2Fc': one segment of a path, or one name or value of a query.
std::string encode_component(std::string_view text);

// 'a%20b' becomes 'a b'; a plus is a plus. Throws invalid_argument naming the text if a percent
// sign is not followed by two hexadecimal digits. Zeros and line ends that were written so come out
// as such.
std::string percent_decode(std::string_view text);
// The same, with none instead of an error; `plus_is_blank` is how forms and queries have it.
std::optional<std::string> try_percent_decode(std::string_view text, bool plus_is_blank = false);

}  // namespace weir::http
