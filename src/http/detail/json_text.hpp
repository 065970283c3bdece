// SPDX-License-Identifier: MIT
// JSON written by hand, where a whole library would be too much.
#pragma once

#include <string>
#include <string_view>

namespace weir::http::detail {

// The text as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD: the text may have
// come from a client.
void append_json_string(std::string& to, std::string_view text);

}  // namespace weir::http::detail
