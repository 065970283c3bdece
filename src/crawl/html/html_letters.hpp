// SPDX-License-Identifier: MIT
// Letters as HTML sees them.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

// 'ASCII whitespace' of the HTML standard.
constexpr bool is_html_blank(char letter) noexcept {
    return letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r' || letter == '\f';
}
inline constexpr std::string_view html_blanks = " \t\n\f\r";

constexpr char html_lower(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
}

inline std::string lowered(std::string_view text) {
    std::string lower(text);
    for (char& each : lower) {
        each = html_lower(each);
    }
    return lower;
}

constexpr std::string_view without_blanks(std::string_view text) noexcept {
    while (!text.empty() && is_html_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_html_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

// Compares without regard to the case of ASCII letters; `lower` is in lower case.
constexpr bool is_word(std::string_view text, std::string_view lower) noexcept {
    if (text.size() != lower.size()) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (html_lower(text[i]) != lower[i]) {
            return false;
        }
    }
    return true;
}

// Calls visit with each word of a list that blanks separate, until it gives true; gives whether it
// did.
template <class Visit>
constexpr bool any_word(std::string_view text, Visit visit) {
    for (;;) {
        text = without_blanks(text);
        if (text.empty()) {
            return false;
        }
        std::size_t end = 0;
        while (end < text.size() && !is_html_blank(text[end])) {
            ++end;
        }
        if (visit(text.substr(0, end))) {
            return true;
        }
        text.remove_prefix(end);
    }
}
constexpr bool has_word(std::string_view text, std::string_view lower) {
    return any_word(text, [&](std::string_view each) { return is_word(each, lower); });
}

// Where the letter is, or the end.
inline const char* find_letter(const char* at, const char* end, char letter) noexcept {
    const void* found = std::memchr(at, letter, static_cast<std::size_t>(end - at));
    return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace weir::crawl::detail
