// SPDX-License-Identifier: MIT
// The seed is a text of two numbers. Unknown names, of a later version, are taken for the first of
// their kind.

#include "crawl/store/row_texts.hpp"

#include <charconv>

namespace weir::crawl::detail {

page_state page_state_named(std::string_view name) noexcept {
    for (const page_state each : {page_state::done, page_state::failed, page_state::skipped}) {
        if (name == name_of(each)) {
            return each;
        }
    }
    return page_state::pending;
}

link_refusal link_refusal_named(std::string_view name) noexcept {
    for (std::size_t i = 0; i < link_refusal_count; ++i) {
        if (name == name_of(static_cast<link_refusal>(i))) {
            return static_cast<link_refusal>(i);
        }
    }
    return link_refusal::none;
}

std::string seed_text(hash_seed seed) {
    return std::to_string(seed.first) + " " + std::to_string(seed.second);
}

hash_seed seed_of_text(std::string_view text) {
    hash_seed seed;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, seed.first);
    if (first.ptr != end) {
        std::from_chars(first.ptr + 1, end, seed.second);
    }
    return seed;
}

}  // namespace weir::crawl::detail
