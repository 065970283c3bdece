// SPDX-License-Identifier: MIT
// Three bytes are four digits of six bits. The two alphabets differ in their last two digits;
// decoding is strict, but for bits of the last digit that no byte needs: they mean nothing.

#include "base/base64.hpp"

#include <cstddef>
#include <cstdint>

namespace weir::base {

namespace {

constexpr std::string_view standard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view for_urls =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encode(std::string_view bytes, std::string_view alphabet) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char each : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(each);
        for (count += 8; count >= 6; count -= 6) {
            text += alphabet[bits >> (count - 6) & 63];
        }
    }
    if (count > 0) {
        text += alphabet[bits << (6 - count) & 63];
    }
    return text;
}

std::optional<std::uint32_t> value_of(char digit, std::string_view alphabet) {
    if (digit >= 'A' && digit <= 'Z') {
        return static_cast<std::uint32_t>(digit - 'A');
    }
    if (digit >= 'a' && digit <= 'z') {
        return static_cast<std::uint32_t>(digit - 'a' + 26);
    }
    if (digit >= '0' && digit <= '9') {
        return static_cast<std::uint32_t>(digit - '0' + 52);
    }
    if (digit == alphabet[62] || digit == alphabet[63]) {
        return digit == alphabet[62] ? 62 : 63;
    }
    return std::nullopt;
}

std::optional<std::string> decode(std::string_view text, std::string_view alphabet) {
    if (text.size() % 4 == 1) {
        return std::nullopt;
    }
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 2);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char each : text) {
        const std::optional<std::uint32_t> value = value_of(each, alphabet);
        if (!value) {
            return std::nullopt;
        }
        bits = bits << 6 | *value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes += static_cast<char>(bits >> count & 0xff);
        }
    }
    return bytes;
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
    std::string text = encode(bytes, standard);
    text.resize((text.size() + 3) / 4 * 4, '=');
    return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
    const std::size_t length = text.find_last_not_of('=') + 1;  // 0 if there is nothing else
    if (text.size() % 4 != 0 || text.size() - length > 2) {
        return std::nullopt;
    }
    return decode(text.substr(0, length), standard);
}

std::string encode_base64url(std::string_view bytes) {
    return encode(bytes, for_urls);
}

std::optional<std::string> decode_base64url(std::string_view text) {
    return decode(text, for_urls);
}

}  // namespace weir::base
