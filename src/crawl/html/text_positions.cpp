// SPDX-License-Identifier: MIT
// Lines end with LF. A column is a byte that does not continue a character of UTF-8.

#include "crawl/html/text_positions.hpp"

#include <cstddef>

namespace weir::crawl::detail {

void text_positions::set_piece(std::string_view piece) noexcept {
    piece_offset_ = offset_;
    piece_ = piece;
}

void text_positions::advance(std::uint64_t offset) noexcept {
    if (offset > offset_) {
        position_ = at(offset);
        offset_ = offset;
    }
}

text_position text_positions::at(std::uint64_t offset) const noexcept {
    text_position found = position_;
    if (offset <= offset_) {
        return found;
    }
    std::string_view passed = piece_.substr(static_cast<std::size_t>(offset_ - piece_offset_),
                                            static_cast<std::size_t>(offset - offset_));
    for (std::size_t line_end = passed.find('\n'); line_end != std::string_view::npos;
         line_end = passed.find('\n')) {
        ++found.line;
        found.column = 1;
        passed.remove_prefix(line_end + 1);
    }
    for (const char each : passed) {
        found.column += (static_cast<unsigned char>(each) & 0xC0) != 0x80 ? 1 : 0;
    }
    return found;
}

}  // namespace weir::crawl::detail
