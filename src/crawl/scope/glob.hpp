// SPDX-License-Identifier: MIT
// Patterns with '*' (any run of characters) and '?' (one character), matched in a time that is at
// most the product of the two lengths.
#pragma once

#include <string_view>

namespace weir::crawl::detail {

bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace weir::crawl::detail
