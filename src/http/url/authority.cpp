// SPDX-License-Identifier: MIT
// Stricter than RFC 3986, whose registered names may also contain %-escapes, commas and the like.
// No name that resolves contains them, and code that splits lists or unescapes would see another
// host.

#include "http/url/authority.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace weir::http::detail {

bool is_authority(std::string_view text, bool needs_port) noexcept {
    std::string_view host;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos || end < 3) {
            return false;
        }
        host = text.substr(0, end + 1);
        if (text.substr(1, end - 1).find_first_not_of("0123456789abcdefABCDEF:.") !=
            std::string_view::npos) {
            return false;
        }
    } else {
        host = text.substr(0, text.find(':'));
        const bool is_name = std::all_of(host.begin(), host.end(), [](char each) {
            const char lower = static_cast<char>(each | 0x20);
            return (lower >= 'a' && lower <= 'z') || base::is_decimal(each) || each == '-' ||
                   each == '.' || each == '_' || each == '~';
        });
        if (host.empty() || !is_name) {
            return false;
        }
    }
    if (host.size() == text.size()) {
        return !needs_port;
    }
    const std::string_view port = text.substr(host.size() + 1);
    if (text[host.size()] != ':' || port.empty() || port.size() > 5 ||
        !std::all_of(port.begin(), port.end(), base::is_decimal)) {
        return false;
    }
    unsigned number = 0;
    for (const char each : port) {
        number = number * 10 + static_cast<unsigned>(each - '0');
    }
    return number <= 65535;
}

}  // namespace weir::http::detail
