// SPDX-License-Identifier: MIT
// The one way to refuse an option: names it, its value, and what would be right.
#pragma once

#include <weir/clock.hpp>

#include <string_view>

namespace weir::detail {

// 'token_bucket: rate is -1; it must be ...'. Throw invalid_argument.
[[noreturn]] void throw_bad_option(std::string_view of, std::string_view option, double value,
                                   std::string_view must_be);
[[noreturn]] void throw_bad_option(std::string_view of, std::string_view option,
                                   clock::duration value, std::string_view must_be);

// Is it a number above zero, and finite?
inline bool is_positive(double value) noexcept {
    return value > 0 && value <= 1.7976931348623157e308;
}

}  // namespace weir::detail
