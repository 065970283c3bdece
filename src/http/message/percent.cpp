// SPDX-License-Identifier: MIT
// Percent-encoding, byte by byte. Upper-case digits are written, both are read.

#include "base/ascii.hpp"
#include "base/quoted.hpp"

#include <weir/error.hpp>
#include <weir/http/percent.hpp>

namespace weir::http {

std::string encode_component(std::string_view text) {
    std::string encoded;
    encoded.reserve(text.size());
    for (const char each : text) {
        if (is_unreserved(each)) {
            encoded += each;
        } else {
            base::append_percent(encoded, each);
        }
    }
    return encoded;
}

std::optional<std::string> try_percent_decode(std::string_view text, bool plus_is_blank) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_blank) {
            decoded += ' ';
        } else if (text[i] != '%') {
            decoded += text[i];
        } else {
            const int high = i + 2 < text.size() ? base::hex_digit_of(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? base::hex_digit_of(text[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return std::nullopt;
            }
            decoded += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return decoded;
}

std::string percent_decode(std::string_view text) {
    std::optional<std::string> decoded = try_percent_decode(text);
    if (!decoded) {
        throw invalid_argument(base::quoted(text) +
                               " is not percent-encoded: two hexadecimal digits follow each '%'");
    }
    return std::move(*decoded);
}

}  // namespace weir::http
