// SPDX-License-Identifier: MIT
// A complete head, with CR LF at the end of each line and none of them folded, into its parts.
#pragma once

#include "http/server/request_parser.hpp"

#include <string_view>

namespace weir::http::detail {

// Throws protocol_error for what request_parser::parse_head() does, sizes aside.
void read_head(std::string_view text, request_head& into);

}  // namespace weir::http::detail
