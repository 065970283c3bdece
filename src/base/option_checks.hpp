// SPDX-License-Identifier: MIT
// The words for options that make no sense: whose, which, the value, and what would be right.
#pragma once

#include <weir/clock.hpp>
#include <weir/error.hpp>

#include <cstdio>
#include <string>

namespace weir::detail {

inline std::string in_words(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
}
inline std::string in_words(clock::duration time) {
    return in_words(std::chrono::duration<double>(time).count()) + " s";
}

[[noreturn]] inline void bad_option(std::string_view owner, std::string_view option,
                                    const std::string& value, std::string_view right) {
    std::string text(owner);
    text.append(": ").append(option).append(" is ").append(value).append(", ").append(right);
    throw invalid_argument(text);
}

}  // namespace weir::detail
