// SPDX-License-Identifier: MIT
// Converts between the encoding of a page and UTF-8.
#pragma once

#include "crawl/encoding/text_encoding.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

// Decodes a page that arrives in pieces. Bytes that the encoding does not have become U+FFFD.
class text_decoder {
public:
    // Where iconv does not know the encoding, bytes are read as windows-1252.
    void begin(const text_encoding& encoding);
    // Appends the piece as UTF-8. UTF-8 itself is copied without a check.
    void decode(std::string_view piece, std::string& to);
    // The bytes of an incomplete character at the end of the page become U+FFFD.
    void finish(std::string& to);

private:
    struct converter;
    struct close_converter {
        void operator()(converter* open) const noexcept;
    };
    void decode_utf_16(std::string_view piece, std::string& to);
    void append_unit(char32_t unit, std::string& to);
    void decode_with_iconv(std::string_view piece, std::string& to);

    decoding how_ = decoding::utf_8;
    bool has_half_ = false;  // UTF-16: one byte of a unit
    unsigned char half_ = 0;
    char32_t high_surrogate_ = 0;  // UTF-16: 0 if none is pending
    std::string held_;             // iconv: bytes of an incomplete character
    std::unique_ptr<converter, close_converter> converter_;
};

// Replaces what is not UTF-8 with U+FFFD.
std::string repaired_utf_8(std::string_view text);

// The reference with all characters outside ASCII in its query percent-encoded in that encoding;
// those that it does not have as '&#...;', as forms are sent. UTF-8 and UTF-16: unchanged.
std::string with_encoded_query(std::string reference, const text_encoding& encoding);

}  // namespace weir::crawl::detail
