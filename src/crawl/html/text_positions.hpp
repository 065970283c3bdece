// SPDX-License-Identifier: MIT
// Lines and columns of offsets in a text that arrives in pieces. Each byte is looked at once, and
// only if a position behind it is asked for or its piece ends.
#pragma once

#include "crawl/html/html_tag.hpp"

#include <cstdint>
#include <string_view>

namespace weir::crawl::detail {

class text_positions {
public:
    void begin() noexcept { *this = {}; }
    // The next piece follows the one before, all of which has been passed with advance().
    void set_piece(std::string_view piece) noexcept;
    // Moves to an offset of the current piece, forwards only.
    void advance(std::uint64_t offset) noexcept;
    // An offset of the current piece at or behind the one moved to.
    text_position at(std::uint64_t offset) const noexcept;

private:
    std::string_view piece_;
    std::uint64_t piece_offset_ = 0;
    std::uint64_t offset_ = 0;
    text_position position_{1, 1};
};

}  // namespace weir::crawl::detail
