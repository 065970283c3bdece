// SPDX-License-Identifier: MIT
// Slots of a day are found on its local clock, and each becomes an instant by what the zone says
// about it: one, none where the clock is set forward, two where it is set back. Days follow one
// another as instants do, so the first slot after a time is the smallest of the first day that has
// one.

#include <weir/error.hpp>
#include <weir/service/cron.hpp>

#include <date/tz.h>

#include <bit>
#include <optional>
#include <stdexcept>

namespace weir::service {

namespace {

using date::local_days;

const date::time_zone& zone_named(std::string_view name) {
    try {
        return *date::locate_zone(std::string(name));
    } catch (const std::runtime_error&) {
        throw invalid_argument(
            "time zone '" + std::string(name.substr(0, 100)) +
            "' is not known; it must be a name such as 'UTC' or 'Europe/Berlin'");
    }
}

// The instants of a local time, up to two.
struct instants {
    std::optional<timestamp> first;
    std::optional<timestamp> second;
};

instants instants_of(const date::time_zone& zone, date::local_time<std::chrono::minutes> local,
                     bool is_time_of_day) {
    const auto info = zone.get_info(local);
    const auto at = [&](std::chrono::seconds offset) {
        return timestamp(local.time_since_epoch() - offset);
    };
    switch (info.result) {
        case date::local_info::nonexistent:
            return {is_time_of_day ? std::optional<timestamp>(info.second.begin) : std::nullopt,
                    {}};
        case date::local_info::ambiguous:
            return {at(info.first.offset),
                    is_time_of_day ? std::nullopt : std::optional(at(info.second.offset))};
        default:
            return {at(info.first.offset), {}};
    }
}

// Offers each slot of a day, in no order.
template <class Offer>
void slots_of_day(const date::time_zone& zone, local_days day, std::uint64_t minutes,
                  std::uint32_t hours, bool is_time_of_day, const Offer& offer) {
    for (std::uint32_t left = hours; left != 0; left &= left - 1) {
        const std::chrono::hours hour(std::countr_zero(left));
        for (std::uint64_t rest = minutes; rest != 0; rest &= rest - 1) {
            const std::chrono::minutes minute(std::countr_zero(rest));
            const instants found = instants_of(zone, day + hour + minute, is_time_of_day);
            for (const std::optional<timestamp>& each : {found.first, found.second}) {
                if (each.has_value()) {
                    offer(*each);
                }
            }
        }
    }
}

local_days local_day_of(const date::time_zone& zone, timestamp when) {
    return date::floor<date::days>(zone.to_local(std::chrono::floor<std::chrono::seconds>(when)));
}

// A pattern that comes ever comes within eight years: the 29th of February around 2100.
constexpr int most_days = 8 * 366 + 1;

}  // namespace

void check_zone(std::string_view zone) {
    static_cast<void>(zone_named(zone));
}

timestamp cron::next_after(timestamp after, std::string_view zone_name) const {
    const date::time_zone& zone = zone_named(zone_name);
    // The day before, too: where the clock is set back over midnight, its end comes again.
    const local_days today = local_day_of(zone, after);
    std::optional<timestamp> best;
    for (int offset = -1; offset < most_days && !best.has_value(); ++offset) {
        const local_days day = today + date::days(offset);
        const date::year_month_day named(day);
        if (!has_day(static_cast<unsigned>(named.month()), static_cast<unsigned>(named.day()),
                     date::weekday(day).c_encoding())) {
            continue;
        }
        slots_of_day(zone, day, minutes_, hours_, is_time_of_day_, [&](timestamp slot) {
            if (slot > after && (!best.has_value() || slot < *best)) {
                best = slot;
            }
        });
    }
    if (!best.has_value()) {
        throw invalid_argument("cron: '" + text_ + "' does not come within eight years");
    }
    return *best;
}

std::optional<timestamp> cron::latest_between(timestamp since, timestamp until,
                                              std::string_view zone_name) const {
    const date::time_zone& zone = zone_named(zone_name);
    const local_days last = local_day_of(zone, until);
    std::optional<timestamp> best;
    for (int offset = -1; offset < most_days && !best.has_value(); ++offset) {
        const local_days day = last - date::days(offset);
        if (day + date::days(2) < local_day_of(zone, since)) {
            break;
        }
        const date::year_month_day named(day);
        if (!has_day(static_cast<unsigned>(named.month()), static_cast<unsigned>(named.day()),
                     date::weekday(day).c_encoding())) {
            continue;
        }
        slots_of_day(zone, day, minutes_, hours_, is_time_of_day_, [&](timestamp slot) {
            if (slot > since && slot <= until && (!best.has_value() || slot > *best)) {
                best = slot;
            }
        });
    }
    return best;
}

}  // namespace weir::service
