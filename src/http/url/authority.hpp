// SPDX-License-Identifier: MIT
// Who is asked: `host` or `host:port`, as Host and targets have it.
#pragma once

#include <string_view>

namespace weir::http::detail {

// The host is made of letters, digits and -._~, or is an IPv6 address in brackets; a port has one
// to five digits.
bool is_authority(std::string_view text, bool needs_port) noexcept;

}  // namespace weir::http::detail
