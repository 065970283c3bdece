// SPDX-License-Identifier: MIT
// UTF-16 and windows-1252 are decoded here, the other encodings by iconv, which is told to go on
// after each byte that it refuses.

#include "crawl/encoding/text_decoder.hpp"

#include "base/ascii.hpp"
#include "base/quoted.hpp"
#include "base/utf8.hpp"
#include "crawl/encoding/windows_1252.hpp"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace weir::crawl::detail {

struct text_decoder::converter {
    iconv_t handle;
};

void text_decoder::close_converter::operator()(converter* open) const noexcept {
    iconv_close(open->handle);
    delete open;
}

void text_decoder::begin(const text_encoding& encoding) {
    how_ = encoding.how;
    has_half_ = false;
    high_surrogate_ = 0;
    held_.clear();
    converter_.reset();
    if (how_ == decoding::iconv) {
        const iconv_t opened = iconv_open("UTF-8", encoding.iconv_name.c_str());
        // iconv_open() fails with a pointer of all ones.
        if (reinterpret_cast<std::intptr_t>(opened) == -1) {
            how_ = decoding::windows_1252;
        } else {
            converter_.reset(new converter{opened});
        }
    }
}

void text_decoder::decode(std::string_view piece, std::string& to) {
    switch (how_) {
        case decoding::utf_8:
            to += piece;
            break;
        case decoding::utf_16_little:
        case decoding::utf_16_big:
            decode_utf_16(piece, to);
            break;
        case decoding::windows_1252:
            append_windows_1252(to, piece);
            break;
        case decoding::iconv:
            decode_with_iconv(piece, to);
            break;
        case decoding::none:
            break;
    }
}

void text_decoder::finish(std::string& to) {
    if (has_half_ || high_surrogate_ != 0 || !held_.empty()) {
        to += base::replacement_character;
    }
    has_half_ = false;
    high_surrogate_ = 0;
    held_.clear();
}

void text_decoder::decode_utf_16(std::string_view piece, std::string& to) {
    for (const char each : piece) {
        const auto byte = static_cast<unsigned char>(each);
        if (!has_half_) {
            half_ = byte;
            has_half_ = true;
            continue;
        }
        has_half_ = false;
        append_unit(how_ == decoding::utf_16_big ? static_cast<char32_t>(half_ << 8 | byte)
                                                 : static_cast<char32_t>(byte << 8 | half_),
                    to);
    }
}

void text_decoder::append_unit(char32_t unit, std::string& to) {
    const bool is_low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (high_surrogate_ != 0) {
        const char32_t high = std::exchange(high_surrogate_, 0);
        if (is_low) {
            base::append_utf8(to, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
            return;
        }
        to += base::replacement_character;
    }
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        high_surrogate_ = unit;
    } else {
        base::append_utf8(to, unit);  // U+FFFD for a low surrogate alone
    }
}

void text_decoder::decode_with_iconv(std::string_view piece, std::string& to) {
    std::string joined;
    if (!held_.empty()) {
        joined = std::exchange(held_, {});
        joined += piece;
        piece = joined;
    }
    std::array<char, 4096> room;
    char* from = const_cast<char*>(piece.data());  // iconv() does not write to its input
    std::size_t left = piece.size();
    while (left > 0) {
        char* into = room.data();
        std::size_t free = room.size();
        const std::size_t result = iconv(converter_->handle, &from, &left, &into, &free);
        const int error = result == static_cast<std::size_t>(-1) ? errno : 0;
        to.append(room.data(), room.size() - free);
        if (error == EILSEQ) {
            to += base::replacement_character;
            ++from;
            --left;
        } else if (error == EINVAL) {  // the last character is incomplete
            held_.assign(from, left);
            return;
        }
    }
}

std::string repaired_utf_8(std::string_view text) {
    std::string repaired;
    repaired.reserve(text.size());
    while (!text.empty()) {
        const std::size_t size = base::utf8_character_size(text);
        if (size > 0) {
            repaired += text.substr(0, size);
            text.remove_prefix(size);
            continue;
        }
        repaired += base::replacement_character;
        // The bytes that began a character are replaced as one.
        base::utf8_check check;
        std::size_t bad = 0;
        while (bad < text.size() && check.feed(std::as_bytes(std::span(text.substr(bad, 1))))) {
            ++bad;
        }
        text.remove_prefix(std::max<std::size_t>(bad, 1));
    }
    return repaired;
}

namespace {

char32_t code_point_of(std::string_view character) noexcept {
    const auto lead = static_cast<unsigned char>(character[0]);
    char32_t code = character.size() == 1   ? lead
                    : character.size() == 2 ? lead & 0x1F
                    : character.size() == 3 ? lead & 0x0F
                                            : lead & 0x07;
    for (const char each : character.substr(1)) {
        code = code << 6 | (static_cast<unsigned char>(each) & 0x3F);
    }
    return code;
}

// The bytes of a character in an encoding.
class character_encoder {
public:
    explicit character_encoder(const text_encoding& encoding) {
        if (encoding.how == decoding::iconv) {
            handle_ = iconv_open(encoding.iconv_name.c_str(), "UTF-8");
        }
    }
    character_encoder(const character_encoder&) = delete;
    character_encoder& operator=(const character_encoder&) = delete;
    ~character_encoder() {
        if (is_open()) {
            iconv_close(handle_);
        }
    }

    std::optional<std::string> bytes_of(std::string_view character) {
        if (!is_open()) {
            const auto byte = windows_1252_byte(code_point_of(character));
            return byte ? std::optional(std::string(1, static_cast<char>(*byte))) : std::nullopt;
        }
        std::array<char, 32> room;
        char* from = const_cast<char*>(character.data());
        std::size_t left = character.size();
        char* into = room.data();
        std::size_t free = room.size();
        if (iconv(handle_, &from, &left, &into, &free) == static_cast<std::size_t>(-1)) {
            iconv(handle_, nullptr, nullptr, nullptr, nullptr);
            return std::nullopt;
        }
        iconv(handle_, nullptr, nullptr, &into, &free);  // back to ASCII, in ISO-2022-JP
        return std::string(room.data(), room.size() - free);
    }

private:
    bool is_open() const noexcept { return reinterpret_cast<std::intptr_t>(handle_) != -1; }

    iconv_t handle_ = reinterpret_cast<iconv_t>(std::intptr_t{-1});
};

}  // namespace

std::string with_encoded_query(std::string reference, const text_encoding& encoding) {
    const std::size_t query = reference.find('?');
    if (query == std::string::npos || reference.find('#') < query ||
        (encoding.how != decoding::windows_1252 && encoding.how != decoding::iconv)) {
        return reference;
    }
    std::string_view rest = std::string_view(reference).substr(query);
    const auto is_ascii = [](char each) { return static_cast<unsigned char>(each) < 0x80; };
    if (std::all_of(rest.begin(), rest.end(), is_ascii)) {
        return reference;
    }
    character_encoder encoder(encoding);
    std::string encoded = reference.substr(0, query);
    while (!rest.empty() && rest[0] != '#') {
        if (is_ascii(rest[0])) {
            encoded += rest[0];
            rest.remove_prefix(1);
            continue;
        }
        const std::size_t size = std::max<std::size_t>(base::utf8_character_size(rest), 1);
        const std::string_view character = rest.substr(0, size);
        if (const auto bytes = encoder.bytes_of(character)) {
            for (const char each : *bytes) {
                // The second byte of a character may be a letter: 'A' of '%83A'.
                if (base::is_alphanumeric(each)) {
                    encoded += each;
                } else {
                    base::append_percent(encoded, each);
                }
            }
        } else {
            encoded += "%26%23" +
                       std::to_string(static_cast<unsigned long>(code_point_of(character))) + "%3B";
        }
        rest.remove_prefix(size);
    }
    encoded += rest;
    return encoded;
}

}  // namespace weir::crawl::detail
