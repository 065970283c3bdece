// SPDX-License-Identifier: MIT
// The host of a URL in its normal form.
#pragma once

#include <string>
#include <string_view>

namespace weir::http::detail {

// Appends the host in its normal form, an IPv6 address with its brackets. False if it is invalid;
// sets `reason`.
bool write_host(std::string_view host, std::string& to, bool& is_ip_literal, std::string& reason);

}  // namespace weir::http::detail
