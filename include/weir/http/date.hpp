// SPDX-License-Identifier: MIT
// Dates as in the headers Date, Last-Modified, Expires, If-Modified-Since and Retry-After.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weir::http {

// 'Sun, 06 Nov 1994 08:49:37 GMT', in every locale; fractions of a second are cut off.
std::string format_date(std::chrono::system_clock::time_point when);
// The same without an allocation.
std::array<char, 29> date_characters(std::chrono::system_clock::time_point when) noexcept;

// Parses that form and the two obsolete ones of RFC 9110, 'Sunday, 06-Nov-94 08:49:37 GMT' and 'Sun
// Nov  6 08:49:37 1994'. Strict: empty for any other text, for days that do not exist and for a
// wrong day of the week. Second 60 is the first of the next minute. A date that the clock cannot
// express (after 2262, before 1677) becomes its last or first moment. `now` decides the century of
// a year with two digits: no date is more than 50 years ahead.
std::optional<std::chrono::system_clock::time_point> parse_date(
    std::string_view text,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) noexcept;

}  // namespace weir::http
