// SPDX-License-Identifier: MIT
// Tells by its words whether a statement only reads. Used where a mistake must be on the safe side:
// a statement that might write counts as one that does.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::pg::detail {

// True for SELECT and the like without a word that makes it write, in any place. Functions that
// write are not seen.
inline bool only_reads(std::string_view sql) noexcept {
    constexpr std::array<std::string_view, 6> reading = {"select", "with",    "values",
                                                         "table",  "explain", "show"};
    constexpr std::array<std::string_view, 7> writing = {"insert", "update", "delete", "merge",
                                                         "into",   "call",   "share"};
    const auto lower = [](char each) {
        return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
    };
    const auto is_letter = [&](char each) {
        return (lower(each) >= 'a' && lower(each) <= 'z') || each == '_';
    };
    const auto is_one_of = [&](std::string_view word, const auto& words) {
        return std::any_of(words.begin(), words.end(), [&](std::string_view each) {
            return std::equal(word.begin(), word.end(), each.begin(), each.end(),
                              [&](char a, char b) { return lower(a) == b; });
        });
    };
    bool is_first = true;
    for (std::size_t at = 0; at < sql.size();) {
        std::size_t end = at;
        while (end < sql.size() && is_letter(sql[end])) {
            ++end;
        }
        const std::string_view word = sql.substr(at, end - at);
        if (!word.empty() && (is_first ? !is_one_of(word, reading) : is_one_of(word, writing))) {
            return false;
        }
        if (is_first && word.empty() && std::string_view(" \t\r\n(").find(sql[at]) == sql.npos) {
            return false;  // perhaps a comment, with words that mean nothing
        }
        is_first = is_first && word.empty();
        at = std::max(end, at + 1);
    }
    return !is_first;
}

}  // namespace weir::pg::detail
