// SPDX-License-Identifier: MIT
// The URLs of a srcset attribute: 'small.png 1x, large.png 2x'.
#pragma once

#include <string_view>
#include <vector>

namespace weir::crawl::detail {

// Views into the value. A comma inside a URL belongs to it, as in 'data:' URLs; one at its end ends
// the candidate.
std::vector<std::string_view> srcset_urls(std::string_view value);

}  // namespace weir::crawl::detail
