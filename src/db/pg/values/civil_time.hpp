// SPDX-License-Identifier: MIT
// Days and dates of the Gregorian calendar, for all years of PostgreSQL (std::chrono::year ends at
// 32767).
#pragma once

#include <cstdint>

namespace weir::pg::detail {

struct civil_date {
    std::int64_t year = 1970;  // 0 is 1 BC
    std::int64_t month = 1;
    std::int64_t day = 1;
};

// Years begin in March here, so that the leap day is the last one, and an era has 400 years, which
// all have the same number of days.
inline constexpr std::int64_t days_per_era = 146'097;
inline constexpr std::int64_t days_to_1970 = 719'468;  // from 0000-03-01

constexpr std::int64_t floor_division(std::int64_t number, std::int64_t divisor) noexcept {
    return number / divisor - (number % divisor < 0 ? 1 : 0);
}

constexpr std::int64_t days_from_civil(const civil_date& date) noexcept {
    const std::int64_t year = date.month > 2 ? date.year : date.year - 1;
    const std::int64_t era = floor_division(year, 400);
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    const std::int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    return era * days_per_era + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - days_to_1970;
}

constexpr civil_date civil_from_days(std::int64_t since_1970) noexcept {
    const std::int64_t days = since_1970 + days_to_1970;
    const std::int64_t era = floor_division(days, days_per_era);
    const std::int64_t day_of_era = days - era * days_per_era;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t month = (5 * day_of_year + 2) / 153;
    return {.year = year_of_era + era * 400 + (month >= 10 ? 1 : 0),
            .month = month < 10 ? month + 3 : month - 9,
            .day = day_of_year - (153 * month + 2) / 5 + 1};
}

}  // namespace weir::pg::detail
