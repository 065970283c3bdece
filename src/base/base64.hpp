// SPDX-License-Identifier: MIT
// Base64 (RFC 4648), for headers, keys and signatures. Bytes are those of a text, whatever they
// mean.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir::base {

std::string encode_base64(std::string_view bytes);
inline std::string encode_base64(std::span<const unsigned char> bytes) {
    return encode_base64(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}
// Of whole groups of four, with '=' at the end only; none for anything else.
std::optional<std::string> decode_base64(std::string_view text);

// For URLs and tokens of HTTP: with '-' and '_', without '='.
std::string encode_base64url(std::string_view bytes);
// None for other characters, and for a length that no bytes have.
std::optional<std::string> decode_base64url(std::string_view text);

}  // namespace weir::base
