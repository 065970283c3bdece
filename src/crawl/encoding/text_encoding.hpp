// SPDX-License-Identifier: MIT
// The encodings that pages are written in, by the labels of the Encoding standard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

enum class decoding : std::uint8_t {
    utf_8,
    utf_16_little,
    utf_16_big,
    windows_1252,
    iconv,
    none,  // encodings that the standard decodes to nothing, since they hide scripts
};

struct text_encoding {
    std::string_view name;   // 'UTF-8', 'windows-1252': as the standard writes it
    std::string iconv_name;  // empty if iconv is not used
    decoding how = decoding::utf_8;
};

// The encoding with that label: 'latin1' is windows-1252. Case and blanks around it do not matter.
// Null: no such label.
const text_encoding* find_encoding(std::string_view label);
const text_encoding& utf_8_encoding();
const text_encoding& windows_1252_encoding();

}  // namespace weir::crawl::detail
