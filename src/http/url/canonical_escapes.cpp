// SPDX-License-Identifier: MIT
// A '%' that begins no escape stays as it is, and must not become one: '%%37e' would first become
// '%7e', and '~' when it is read again. So an escape right behind such a '%' is not decoded.

#include "http/url/canonical_escapes.hpp"

#include "base/ascii.hpp"
#include "base/quoted.hpp"

#include <weir/http/percent.hpp>

namespace weir::http::detail {

namespace {

// The byte that an escape at the front of the text stands for; -1 if there is none.
int escaped_byte(std::string_view text) noexcept {
    if (text.size() < 3 || text[0] != '%') {
        return -1;
    }
    const int high = base::hex_digit_of(text[1]);
    const int low = base::hex_digit_of(text[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

bool has_other_escapes(std::string_view text) noexcept {
    for (std::size_t at = 0; (at = text.find('%', at)) != std::string_view::npos; ++at) {
        const int byte = escaped_byte(text.substr(at));
        if (byte >= 0 && (is_unreserved(static_cast<char>(byte)) || text[at + 1] >= 'a' ||
                          text[at + 2] >= 'a')) {
            return true;
        }
    }
    return false;
}

void append_canonical_escapes(std::string& to, std::string_view text) {
    std::size_t safe_size = 0;  // from which a character cannot complete a '%' written before
    for (std::size_t at = 0; at < text.size(); ++at) {
        const int byte = escaped_byte(text.substr(at));
        if (byte < 0) {
            if (text[at] == '%') {
                safe_size = to.size() + 3;
            }
            to += text[at];
            continue;
        }
        const char letter = static_cast<char>(byte);
        if (is_unreserved(letter) && to.size() >= safe_size) {
            to += letter;
        } else {
            base::append_percent(to, letter);
        }
        at += 2;
    }
}

}  // namespace weir::http::detail
