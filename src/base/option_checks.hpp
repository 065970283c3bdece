// SPDX-License-Identifier: MIT
// Errors for invalid options: the owner, the option, its value, and what is expected.
//
//     token_bucket: rate is -1; it must be a positive number of tokens
#pragma once

#include <weir/clock.hpp>

#include <limits>
#include <string_view>

namespace weir::detail {

// Throw invalid_argument.
[[noreturn]] void throw_bad_option(std::string_view owner, std::string_view option, double value,
                                   std::string_view must_be);
[[noreturn]] void throw_bad_option(std::string_view owner, std::string_view option,
                                   clock::duration value, std::string_view must_be);
[[noreturn]] void throw_bad_option(std::string_view owner, std::string_view option,
                                   std::string_view value, std::string_view must_be);

// Above zero and finite.
inline bool is_positive(double value) noexcept {
    return value > 0 && value <= std::numeric_limits<double>::max();
}

}  // namespace weir::detail
