// SPDX-License-Identifier: MIT
// Bytes stand for the characters of the same number, but those from 80 to 9F, which have a table.

#include "crawl/encoding/windows_1252.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <iterator>

namespace weir::crawl::detail {
namespace {

constexpr char16_t windows_1252_table[] = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

}  // namespace

char32_t windows_1252_character(unsigned char byte) noexcept {
    return byte >= 0x80 && byte <= 0x9F ? windows_1252_table[byte - 0x80] : byte;
}

std::optional<unsigned char> windows_1252_byte(char32_t character) noexcept {
    if (character < 0x80 || (character >= 0xA0 && character <= 0xFF)) {
        return static_cast<unsigned char>(character);
    }
    const auto found =
        std::find(std::begin(windows_1252_table), std::end(windows_1252_table), character);
    if (found == std::end(windows_1252_table)) {
        return std::nullopt;
    }
    return static_cast<unsigned char>(0x80 + (found - std::begin(windows_1252_table)));
}

void append_windows_1252(std::string& to, std::string_view bytes) {
    for (const char each : bytes) {
        const auto byte = static_cast<unsigned char>(each);
        if (byte < 0x80) {
            to += each;
        } else {
            base::append_utf8(to, windows_1252_character(byte));
        }
    }
}

}  // namespace weir::crawl::detail
