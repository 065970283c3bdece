// SPDX-License-Identifier: MIT
// Character by character: exceptions have messages of any size, in any encoding.

#include "service/store/kept_text.hpp"

#include "base/utf8.hpp"

namespace weir::service::detail {

std::string kept_text(std::string_view text, std::size_t most) {
    constexpr std::string_view unknown = "\xef\xbf\xbd";
    constexpr std::string_view dots = "...";
    std::string kept;
    std::size_t whole = 0;  // so much of it leaves room for the dots
    while (!text.empty()) {
        const std::size_t size = base::utf8_character_size(text);
        const bool is_good = size != 0 && text.front() != '\0';
        const std::string_view next = is_good ? text.substr(0, size) : unknown;
        if (kept.size() + next.size() > most) {
            kept.resize(whole);
            kept += dots;
            break;
        }
        kept += next;
        if (kept.size() + dots.size() <= most) {
            whole = kept.size();
        }
        text.remove_prefix(is_good ? size : 1);
    }
    return kept;
}

}  // namespace weir::service::detail
