// SPDX-License-Identifier: MIT
// Times of the calendar as text, in UTC: '2026-11-15T09:30:00.250000Z'.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weir::base {

std::string to_rfc3339(std::chrono::sys_time<std::chrono::microseconds> at);
void append_rfc3339(std::string& to, std::chrono::sys_time<std::chrono::microseconds> at);
// Accepts 'Z' or an offset, with or without a fraction, from 1970 to 9999.
std::optional<std::chrono::sys_time<std::chrono::microseconds>> parse_rfc3339(
    std::string_view text) noexcept;

}  // namespace weir::base
