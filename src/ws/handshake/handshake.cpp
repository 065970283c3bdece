// SPDX-License-Identifier: MIT
// The answer to a key is the SHA-1 of the key and a fixed text, in base64. It is not secret; it
// proves that the server speaks WebSocket.

#include "ws/handshake/handshake.hpp"

#include "base/base64.hpp"
#include "ws/protocol/random.hpp"

#include <openssl/sha.h>

#include <array>

namespace weir::ws::detail {

std::string make_key() {
    std::array<unsigned char, 16> bytes;
    fill_random(bytes);
    return base::encode_base64(bytes);
}

// 22 characters of base64 and '=='. Four bits of the last character are not part of the key.
bool is_key(std::string_view text) noexcept {
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return text.size() == 24 && text.substr(22) == "==" &&
           text.substr(0, 22).find_first_not_of(alphabet) == std::string_view::npos;
}

std::string accept_for(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
    SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    return base::encode_base64(digest);
}

}  // namespace weir::ws::detail
