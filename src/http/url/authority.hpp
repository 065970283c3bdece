// SPDX-License-Identifier: MIT
// The authority of a URL: `host` or `host:port`, as in the header Host and in request targets.
#pragma once

#include <string_view>

namespace weir::http::detail {

// True if the text is valid: the host is made of letters, digits and -._~, or is an IPv6 address in
// brackets; a port has one to five digits.
bool is_authority(std::string_view text, bool needs_port) noexcept;

}  // namespace weir::http::detail
