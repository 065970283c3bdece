// SPDX-License-Identifier: MIT
// Decompresses a body that was received with a Content-Encoding. The client does so by itself; this
// is for bodies that are kept as they came, as archives keep them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

// The body without its coding: gzip, deflate or br. Nothing if the coding is another one, none, or
// several. Throws limit_exceeded if the result has more than `limit` bytes, and transport_error if
// the body is invalid or incomplete.
std::optional<std::string> decoded_body(std::string_view coding, std::string_view body,
                                        std::uint64_t limit);

}  // namespace weir::http
