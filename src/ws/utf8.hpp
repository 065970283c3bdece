// SPDX-License-Identifier: MIT
// Is it UTF-8? Asked piece by piece, since a message comes in fragments and those in pieces.
#pragma once

#include <weir/io/buffer.hpp>

#include <cstdint>

namespace weir::ws::detail {

class utf8_check {
public:
    // False as soon as the text so far can be no beginning of UTF-8; then for ever.
    bool feed(io::const_bytes piece) noexcept;
    // Does it end with a whole character?
    bool is_complete() const noexcept { return is_good_ && missing_ == 0; }
    void reset() noexcept { *this = {}; }

private:
    std::uint8_t missing_ = 0;  // bytes of the character that has begun
    // What the next of them may be: overlong forms, surrogates and what is above U+10FFFF are told
    // by the second byte.
    std::uint8_t lowest_ = 0x80;
    std::uint8_t highest_ = 0xBF;
    bool is_good_ = true;
};

inline bool is_utf8(io::const_bytes text) noexcept {
    utf8_check check;
    return check.feed(text) && check.is_complete();
}

}  // namespace weir::ws::detail
