// SPDX-License-Identifier: MIT
// The named characters of HTML: 'amp', 'eacute', 'CounterClockwiseContourIntegral'.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::crawl::detail {

struct named_reference {
    std::string_view name;  // without the semicolon
    char32_t first = 0;
    char32_t second = 0;         // 0: the name stands for one character
    bool is_known_bare = false;  // also without a semicolon
};

// The longest name that the text, which follows a '&', begins with; none if it begins with no name.
// Names that need a semicolon count only with it.
const named_reference* longest_named_reference(std::string_view text, bool& has_semicolon);

}  // namespace weir::crawl::detail
