// SPDX-License-Identifier: MIT
// '&amp;', '&#228;', '&#xE4;' and '&copy' in text and in the values of attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

enum class reference_context : std::uint8_t {
    text,
    // '&copy=1' and '&p=2' stay as they are: a name without a semicolon counts only if neither '='
    // nor a letter or digit follows.
    attribute,
};

// The text with its character references decoded, CR LF and CR as LF, and NUL as U+FFFD.
std::string decode_references(std::string_view raw, reference_context context);

}  // namespace weir::crawl::detail
