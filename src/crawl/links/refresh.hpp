// SPDX-License-Identifier: MIT
// The reference in '5; url=/next', the value of <meta http-equiv=refresh> and the header Refresh.
#pragma once

#include <optional>
#include <string_view>

namespace weir::crawl::detail {

// None if the value is invalid or the page refreshes itself.
std::optional<std::string_view> refresh_target(std::string_view value);

}  // namespace weir::crawl::detail
