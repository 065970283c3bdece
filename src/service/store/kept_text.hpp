// SPDX-License-Identifier: MIT
// What handlers say in words, as every store can keep it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::service::detail {

constexpr std::size_t longest_error = 4000;
constexpr std::size_t longest_message = 1000;

// UTF-8 without NUL, of so many bytes at most: what is longer ends with '...', and what is none of
// that becomes U+FFFD.
std::string kept_text(std::string_view text, std::size_t most);

}  // namespace weir::service::detail
