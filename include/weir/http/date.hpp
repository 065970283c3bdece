// SPDX-License-Identifier: MIT
// Dates as in the headers Date, Last-Modified, Expires, If-Modified-Since and Retry-After.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

// 'Sun, 06 Nov 1994 08:49:37 GMT', whatever the locale; fractions of a second are cut off.
std::string format_date(std::chrono::system_clock::time_point when);
// The same without an allocation.
std::array<char, 29> date_characters(std::chrono::system_clock::time_point when) noexcept;

// Reads that form and the two obsolete ones of RFC 9110, 'Sunday, 06-Nov-94 08:49:37 GMT' and 'Sun
// Nov  6 08:49:37 1994'. Strict: none for anything else, for days that do not exist and for a name
// of the wrong day of the week. A second 60 is the next minute's first. What the clock cannot
// express (after 2262, before 1677) is its last or first moment. `now` decides the century of two
// digits: no date is more than 50 years ahead.
std::optional<std::chrono::system_clock::time_point> parse_date(
    std::string_view text,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) noexcept;

}  // namespace weir::http
