// SPDX-License-Identifier: MIT
// What a page says about its encoding: a byte order mark, the charset of Content-Type, and <meta>
// or an XML declaration in its first 1,024 bytes.
#pragma once

#include "crawl/encoding/text_encoding.hpp"

#include <cstddef>
#include <string_view>

namespace weir::crawl::detail {

// How much of a page is searched for a <meta>.
inline constexpr std::size_t prescan_size = 1024;

struct byte_order_mark {
    const text_encoding* encoding = nullptr;  // null: the text begins without one
    std::size_t size = 0;
};
byte_order_mark find_byte_order_mark(std::string_view start);

// The charset in 'text/html; charset=...', in a header or in the content of a <meta>. Null if there
// is none or the label is unknown.
const text_encoding* charset_of(std::string_view content_type);

// Prescans the start of a page. Null if it declares nothing known. A page that can be searched for
// ASCII is not UTF-16, so that stands for UTF-8.
const text_encoding* declared_encoding(std::string_view start);

}  // namespace weir::crawl::detail
