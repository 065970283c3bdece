// SPDX-License-Identifier: MIT
// Recurring times, as cron writes them: 'minute hour day month weekday', or with seconds 'second
// minute hour day month weekday', or '@every 10s'.
//
//     const service::cron nightly = service::cron::parse("30 2 * * mon-fri");
//     nightly.next_after(now, "Europe/Berlin");
//
// A field is '*', a number, a range '1-5', a list '1,15', each with an optional step '*/15'. Months
// and weekdays have names, too (jan, mon). Sunday is 0 and 7, and may end a range: sat-sun.
// Aliases: @yearly, @monthly, @weekly, @daily, @hourly.
//
// '@every 1h30m' (units d, h, m, s; from a second to 366 days) comes at multiples of that interval
// since 1970-01-01 00:00 UTC, in every zone: '@every 15m' at :00, :15, :30 and :45. So the slots
// are the same after a restart and on every node. An interval that does not divide a day shifts
// from day to day.
//
// If both day and weekday are given, either is enough: '0 0 13 * fri' comes on every 13th and every
// Friday. A field that begins with a star counts as not given, also with a step, and then both must
// hold: '0 0 */2 * mon' comes on Mondays with an odd date. So it is in the crons of Unix systems.
//
// When clocks are set forward or back: a time of day ('30 2 * * *') that does not exist comes at
// the moment of the change, and one that exists twice comes the first time only, so each day has
// its slot. Times that repeat within hours ('*/15 * * * *', a star for minute or hour) follow
// elapsed time.
#pragma once

#include <weir/service/task.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::service {

class cron {
public:
    // Throws invalid_argument that names the field, its text and what is expected; also if no such
    // day exists.
    static cron parse(std::string_view text);

    // The first slot later than `after`. Throws invalid_argument for an unknown zone.
    timestamp next_after(timestamp after, std::string_view zone) const;
    // The last slot later than `since` and not later than `until`: the latest missed one.
    std::optional<timestamp> latest_between(timestamp since, timestamp until,
                                            std::string_view zone) const;

    const std::string& text() const noexcept { return text_; }
    // Why the days are perhaps not those that were meant: a step of a star in one of the two
    // fields, and days in the other. Empty: no reason.
    std::string warning() const;

private:
    cron() = default;
    bool has_day(unsigned month, unsigned day, unsigned weekday) const noexcept;
    bool has_any_day() const noexcept;
    // Slots on a clock that is not set within a day of them.
    std::optional<timestamp> next_on_even_clock(timestamp after, timestamp until,
                                                std::chrono::seconds offset) const;
    std::optional<timestamp> latest_on_even_clock(timestamp since, timestamp until,
                                                  std::chrono::seconds offset) const;
    // The first time of day that is not earlier, the last that is not later. Empty: none.
    std::optional<std::chrono::seconds> time_from(std::chrono::seconds least) const noexcept;
    std::optional<std::chrono::seconds> time_up_to(std::chrono::seconds most) const noexcept;

    std::string text_;
    std::chrono::seconds every_{0};  // above 0: an interval, and the rest has no meaning
    std::uint64_t seconds_ = 1;      // bit sets
    std::uint64_t minutes_ = 0;
    std::uint32_t hours_ = 0;
    std::uint32_t days_ = 0;
    std::uint32_t months_ = 0;
    std::uint32_t weekdays_ = 0;
    bool any_day_ = false;  // the field is a star: then the other one decides
    bool any_weekday_ = false;
    bool is_time_of_day_ = false;  // neither minute nor hour is a star
};

// Throws invalid_argument for an unknown zone.
void check_zone(std::string_view zone);

}  // namespace weir::service
