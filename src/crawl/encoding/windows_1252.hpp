// SPDX-License-Identifier: MIT
// windows-1252, which is what 'latin1', 'iso-8859-1' and 'ascii' mean on the web.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

char32_t windows_1252_character(unsigned char byte) noexcept;
// The byte of a character that windows-1252 has.
std::optional<unsigned char> windows_1252_byte(char32_t character) noexcept;
// Appends the bytes as UTF-8.
void append_windows_1252(std::string& to, std::string_view bytes);

}  // namespace weir::crawl::detail
