// SPDX-License-Identifier: MIT
// The messages for invalid options. Integers are written in full, durations in seconds.

#include "base/option_checks.hpp"

#include <weir/error.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace weir::detail {

void throw_bad_option(std::string_view owner, std::string_view option, double value,
                      std::string_view must_be) {
    char text[64];
    const bool is_integer = std::abs(value) < 1e15 && value == std::trunc(value);
    std::snprintf(text, sizeof text, is_integer ? "%.0f" : "%g", value);
    throw_bad_option(owner, option, std::string_view(text), must_be);
}

void throw_bad_option(std::string_view owner, std::string_view option, clock::duration value,
                      std::string_view must_be) {
    char text[64];
    std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(value).count());
    throw_bad_option(owner, option, std::string_view(text), must_be);
}

void throw_bad_option(std::string_view owner, std::string_view option, std::string_view value,
                      std::string_view must_be) {
    std::string text(owner);
    text.append(": ").append(option).append(" is ").append(value).append("; it must be ");
    text.append(must_be);
    throw invalid_argument(text);
}

}  // namespace weir::detail
