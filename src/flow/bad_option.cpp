// SPDX-License-Identifier: MIT
// The messages of options that make no sense.

#include <weir/error.hpp>
#include <weir/flow/bad_option.hpp>

#include <cstdio>
#include <string>

namespace weir::detail {

namespace {

[[noreturn]] void refuse(std::string_view of, std::string_view option, std::string_view value,
                         std::string_view must_be) {
    std::string text(of);
    text.append(": ").append(option).append(" is ").append(value).append("; it must be ");
    text.append(must_be);
    throw invalid_argument(text);
}

}  // namespace

void throw_bad_option(std::string_view of, std::string_view option, double value,
                      std::string_view must_be) {
    char text[64];
    std::snprintf(text, sizeof text, "%g", value);
    refuse(of, option, text, must_be);
}

void throw_bad_option(std::string_view of, std::string_view option, clock::duration value,
                      std::string_view must_be) {
    char text[64];
    std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(value).count());
    refuse(of, option, text, must_be);
}

}  // namespace weir::detail
