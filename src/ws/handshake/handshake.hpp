// SPDX-License-Identifier: MIT
// The keys of the handshake (RFC 6455, section 4).
#pragma once

#include <string>
#include <string_view>

namespace weir::ws::detail {

// 16 random bytes in base64.
std::string make_key();
bool is_key(std::string_view text) noexcept;
// The answer of a server to the key.
std::string accept_for(std::string_view key);

}  // namespace weir::ws::detail
