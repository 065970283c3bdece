// SPDX-License-Identifier: MIT
// JSON written by hand, where a whole library would be too much.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::http::detail {

// How many bytes the character at the beginning has: 0 if it is no UTF-8. Of text that is not
// empty.
std::size_t character_size(std::string_view text) noexcept;

// The text as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD: the text may
// have come from a client.
void append_json_string(std::string& to, std::string_view text);

}  // namespace weir::http::detail
