// SPDX-License-Identifier: MIT
// The leftmost place of each part leaves most room for those after it, so the first try is the only
// one. memmem() of the C library takes linear time.

#include "crawl/robots/robots_pattern.hpp"

#include "base/ascii.hpp"
#include "base/quoted.hpp"

#include <string.h>

#include <cstddef>

namespace weir::crawl::detail {
namespace {

bool is_unreserved(char letter) noexcept {
    return base::is_alphanumeric(letter) || letter == '-' || letter == '.' || letter == '_' ||
           letter == '~';
}

// One character, or one that is percent-encoded, in normal form; gives how much was used.
std::size_t append_normal(std::string& to, std::string_view from) {
    const char letter = from[0];
    if (letter == '%' && from.size() > 2) {
        const int high = base::hex_digit_of(from[1]);
        const int low = base::hex_digit_of(from[2]);
        if (high >= 0 && low >= 0) {
            const char decoded = static_cast<char>(high << 4 | low);
            if (is_unreserved(decoded)) {
                to += decoded;
            } else {
                base::append_percent(to, decoded);
            }
            return 3;
        }
    }
    // A '%' that encodes nothing is a character of its own: '%%42' is not '%B'.
    if (letter > ' ' && letter < 0x7F && letter != '%') {
        to += letter;
    } else {
        base::append_percent(to, letter);
    }
    return 1;
}

}  // namespace

std::string normal_robots_target(std::string_view target) {
    std::string normal;
    normal.reserve(target.size());
    while (!target.empty()) {
        if (target[0] == '*' || target[0] == '$') {
            base::append_percent(normal, target[0]);
            target.remove_prefix(1);
        } else {
            target.remove_prefix(append_normal(normal, target));
        }
    }
    return normal;
}

std::string normal_robots_pattern(std::string_view pattern) {
    std::string normal;
    normal.reserve(pattern.size());
    while (!pattern.empty()) {
        if (pattern[0] == '$' && pattern.size() > 1) {
            base::append_percent(normal, pattern[0]);
            pattern.remove_prefix(1);
        } else {
            pattern.remove_prefix(append_normal(normal, pattern));
        }
    }
    return normal;
}

bool matches_robots_pattern(std::string_view target, std::string_view pattern) noexcept {
    const bool is_anchored = pattern.ends_with('$');
    if (is_anchored) {
        pattern.remove_suffix(1);
    }
    std::size_t star = pattern.find('*');
    const std::string_view first = pattern.substr(0, star);
    if (!target.starts_with(first)) {
        return false;
    }
    target.remove_prefix(first.size());
    if (star == std::string_view::npos) {
        return !is_anchored || target.empty();
    }
    for (;;) {
        pattern.remove_prefix(star + 1);
        star = pattern.find('*');
        const std::string_view part = pattern.substr(0, star);
        if (star == std::string_view::npos && is_anchored) {
            return target.ends_with(part);
        }
        if (!part.empty()) {
            const void* found = ::memmem(target.data(), target.size(), part.data(), part.size());
            if (found == nullptr) {
                return false;
            }
            const auto at =
                static_cast<std::size_t>(static_cast<const char*>(found) - target.data());
            target.remove_prefix(at + part.size());
        }
        if (star == std::string_view::npos) {
            return true;
        }
    }
}

}  // namespace weir::crawl::detail
