// SPDX-License-Identifier: MIT
// Only the last '*' is ever tried again: what an earlier one could match, the last one can, too.

#include "crawl/scope/glob.hpp"

#include <cstddef>

namespace weir::crawl::detail {

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t at = 0;
    std::size_t in_text = 0;
    std::size_t star = none;
    std::size_t star_text = 0;
    while (in_text < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            star_text = in_text;
        } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
            ++at;
            ++in_text;
        } else if (star != none) {
            at = star + 1;
            in_text = ++star_text;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*') {
        ++at;
    }
    return at == pattern.size();
}

}  // namespace weir::crawl::detail
