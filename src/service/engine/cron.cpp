// SPDX-License-Identifier: MIT
// The parser turns each field into a set of bits. Slots of a day are found on its local clock, and
// each becomes an instant by the rules of the zone: one, none where the clock is set forward, two
// where it is set back. Days follow one another as instants do, so the first slot after a time is
// the smallest of the first day that has one. Most of the time no clock is set for days: then local
// time and instants differ by a constant, and the bits give the slot without a look at the others.

#include <weir/error.hpp>
#include <weir/service/cron.hpp>

#include <date/tz.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace weir::service {

namespace {

// ---- parsing

constexpr std::array<std::string_view, 12> month_names = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names = {"sun", "mon", "tue", "wed",
                                                           "thu", "fri", "sat"};

struct field_rules {
    std::string_view name;
    unsigned min;
    unsigned max;
    std::span<const std::string_view> names{};  // of min and the values after it
};
constexpr field_rules second_field{"second", 0, 59};
constexpr field_rules minute_field{"minute", 0, 59};
constexpr field_rules hour_field{"hour", 0, 23};
constexpr field_rules day_field{"day", 1, 31};
constexpr field_rules month_field{"month", 1, 12, month_names};
constexpr field_rules weekday_field{"weekday", 0, 7, weekday_names};

[[noreturn]] void throw_bad_field(const field_rules& field, std::string_view text) {
    std::string error = "cron: ";
    error += field.name;
    error += " is '";
    error += text;
    error += "'; it must be *, or numbers from " + std::to_string(field.min) + " to " +
             std::to_string(field.max);
    if (!field.names.empty()) {
        error += " or names such as ";
        error += field.names.front();
    }
    error += ", as 1, 1-5, 1,15 or */15";
    throw invalid_argument(error);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = text.find_first_not_of(separators); begin != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(separators, end);
    }
    return parts;
}

bool is_same_word(std::string_view left, std::string_view right) noexcept {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
    });
}

std::optional<unsigned> parse_number(std::string_view text) noexcept {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

std::optional<unsigned> parse_value(const field_rules& field, std::string_view text) noexcept {
    for (std::size_t i = 0; i < field.names.size(); ++i) {
        if (is_same_word(text, field.names[i])) {
            return field.min + static_cast<unsigned>(i);
        }
    }
    const std::optional<unsigned> number = parse_number(text);
    return number >= field.min && number <= field.max ? number : std::nullopt;
}

// '5', '1-5' or '*', each with an optional '/step'. `text` is the whole field.
std::uint64_t parse_item(const field_rules& field, std::string_view item, std::string_view text) {
    const std::size_t slash = item.find('/');
    const std::string_view range = item.substr(0, slash);
    unsigned step = 1;
    if (slash != std::string_view::npos) {
        const std::optional<unsigned> number = parse_number(item.substr(slash + 1));
        if (!number.has_value() || *number == 0 || *number > field.max) {
            throw_bad_field(field, text);
        }
        step = *number;
    }
    std::optional<unsigned> first = field.min;
    std::optional<unsigned> last = field.max;
    if (range != "*") {
        const std::size_t dash = range.find('-');
        first = parse_value(field, range.substr(0, dash));
        if (dash != std::string_view::npos) {
            last = parse_value(field, range.substr(dash + 1));
            if (&field == &weekday_field && last == 0U && first > 0U) {
                last = field.max;  // 'fri-sun': weeks end with it, too
            }
        } else if (slash == std::string_view::npos) {
            last = first;  // '5/10' runs to the end of the range, as in other crons
        }
    }
    if (!first.has_value() || !last.has_value() || *first > *last) {
        throw_bad_field(field, text);
    }
    std::uint64_t bits = 0;
    for (unsigned each = *first; each <= *last; each += step) {
        bits |= std::uint64_t{1} << each;
    }
    return bits;
}

std::uint64_t parse_field(const field_rules& field, std::string_view text) {
    std::uint64_t bits = 0;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        bits |= parse_item(field, text.substr(begin, end - begin), text);
        begin = end + 1;
    }
    return bits;
}

std::string_view expand_alias(std::string_view text) noexcept {
    constexpr std::array<std::array<std::string_view, 2>, 7> known = {{
        {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"},
        {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"},
        {"@daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    }};
    for (const auto& [name, meaning] : known) {
        if (is_same_word(text, name)) {
            return meaning;
        }
    }
    return text;
}

constexpr std::string_view every_word = "@every";

[[noreturn]] void throw_bad_interval(std::string_view text) {
    throw invalid_argument("cron: '@every " + std::string(text.substr(0, 100)) +
                           "' must have an interval from 1s to 366d, with the units d, h, m and s, "
                           "such as 10s or 1h30m");
}

// '1h30m': each unit once, the largest first.
std::chrono::seconds parse_interval(std::string_view text) {
    constexpr std::array<std::pair<char, std::int64_t>, 4> units = {
        {{'d', 86'400}, {'h', 3600}, {'m', 60}, {'s', 1}}};
    constexpr std::int64_t max_interval = 366 * 86'400;
    std::int64_t sum = 0;
    std::string_view rest = text;
    for (const auto& [unit, seconds] : units) {
        const std::size_t end = rest.find(unit);
        if (end == std::string_view::npos) {
            continue;
        }
        const std::optional<unsigned> count = parse_number(rest.substr(0, end));
        if (!count.has_value() || *count > max_interval) {
            throw_bad_interval(text);
        }
        sum += *count * seconds;
        rest.remove_prefix(end + 1);
    }
    if (!rest.empty() || sum < 1 || sum > max_interval) {
        throw_bad_interval(text);
    }
    return std::chrono::seconds(sum);
}

// ---- slots and zones

using date::local_days;

const date::time_zone& zone_named(std::string_view name) {
    try {
        return *date::locate_zone(std::string(name));
    } catch (const std::runtime_error&) {
        throw invalid_argument("time zone '" + std::string(name.substr(0, 100)) +
                               "' is unknown; it must be a name such as 'UTC' or 'Europe/Berlin'");
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
void slots_of_day(const date::time_zone& zone, local_days day, std::uint64_t seconds,
                  std::uint64_t minutes, std::uint32_t hours, bool is_time_of_day,
                  const Offer& offer) {
    for (std::uint32_t left = hours; left != 0; left &= left - 1) {
        const std::chrono::hours hour(std::countr_zero(left));
        for (std::uint64_t rest = minutes; rest != 0; rest &= rest - 1) {
            const std::chrono::minutes minute(std::countr_zero(rest));
            const instants found = instants_of(zone, day + hour + minute, is_time_of_day);
            for (const std::optional<timestamp>& each : {found.first, found.second}) {
                for (std::uint64_t bits = seconds; each && bits != 0; bits &= bits - 1) {
                    offer(*each + std::chrono::seconds(std::countr_zero(bits)));
                }
            }
        }
    }
}

local_days local_day_of(const date::time_zone& zone, timestamp when) {
    return date::floor<date::days>(zone.to_local(std::chrono::floor<std::chrono::seconds>(when)));
}

// A span of time in which the clock of a zone is not set, without its first and last day.
struct even_clock {
    even_clock(const date::time_zone& zone, timestamp when) {
        constexpr std::chrono::hours day(24);
        const date::sys_info info = zone.get_info(std::chrono::floor<std::chrono::seconds>(when));
        offset = info.offset;
        // The ends of a zone without changes are not representable in microseconds.
        if (info.begin > date::sys_days(date::year(1900) / 1 / 1)) {
            begin = info.begin + day;
        }
        if (info.end < date::sys_days(date::year(3000) / 1 / 1)) {
            end = info.end - day;
        }
    }
    bool contains(timestamp at) const noexcept { return at >= begin && at < end; }

    std::chrono::seconds offset{};
    timestamp begin = timestamp::min();
    timestamp end = timestamp::max();
};

// A pattern that matches any day matches one within eight years: the 29th of February around 2100.
constexpr int max_days = 8 * 366 + 1;

}  // namespace

cron cron::parse(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    const std::vector<std::string_view> words = split(text, blanks);
    std::vector<std::string_view> fields =
        words.size() == 1 ? split(expand_alias(words.front()), blanks) : words;
    const bool is_interval = !words.empty() && is_same_word(words.front(), every_word);
    if ((fields.size() != 5 && fields.size() != 6 && !is_interval) || text.size() > 200) {
        throw invalid_argument(
            "cron: '" + std::string(text.substr(0, 200)) +
            "' must have five fields: minute hour day month weekday, such as"
            " '30 2 * * mon-fri', or six with the second first, or be @every 10s, @hourly, @daily,"
            " @weekly, @monthly, @yearly");
    }
    cron result;
    result.text_ = text;
    if (is_interval) {
        if (words.size() != 2) {
            throw_bad_interval(words.size() == 1 ? std::string_view() : text);
        }
        result.every_ = parse_interval(words[1]);
        return result;
    }
    if (fields.size() == 6) {
        result.seconds_ = parse_field(second_field, fields.front());
        fields.erase(fields.begin());
    }
    result.minutes_ = parse_field(minute_field, fields[0]);
    result.hours_ = static_cast<std::uint32_t>(parse_field(hour_field, fields[1]));
    result.days_ = static_cast<std::uint32_t>(parse_field(day_field, fields[2]));
    result.months_ = static_cast<std::uint32_t>(parse_field(month_field, fields[3]));
    result.weekdays_ = static_cast<std::uint32_t>(parse_field(weekday_field, fields[4]));
    result.weekdays_ |= result.weekdays_ >> 7;  // Sunday is 7, too
    result.any_day_ = fields[2].starts_with('*');
    result.any_weekday_ = fields[4].starts_with('*');
    result.is_time_of_day_ = !fields[0].starts_with('*') && !fields[1].starts_with('*');
    if (!result.has_any_day()) {
        throw invalid_argument("cron: '" + result.text_ +
                               "' never comes: none of its months has such a day");
    }
    return result;
}

// A star with a step restricts its days but counts as a star, so that both must hold: '*/2 * 1'.
bool cron::has_day(unsigned month, unsigned day, unsigned weekday) const noexcept {
    if ((months_ >> month & 1) == 0) {
        return false;
    }
    const bool by_day = (days_ >> day & 1) != 0;
    const bool by_weekday = (weekdays_ >> weekday & 1) != 0;
    return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

std::string cron::warning() const {
    constexpr std::uint32_t all_days = 0xffff'fffe;
    constexpr std::uint32_t all_weekdays = 0x7f;
    const bool restricts_both =
        (days_ & all_days) != all_days && (weekdays_ & all_weekdays) != all_weekdays;
    if (every_.count() > 0 || !restricts_both || !(any_day_ || any_weekday_)) {
        return {};
    }
    return "cron '" + text_ + "': day and weekday must both hold, because a step such as '*/2' " +
           "counts as a star; for either of them list the days: '1-31/2'";
}

bool cron::has_any_day() const noexcept {
    constexpr std::array<unsigned, 13> lengths = {0,  31, 29, 31, 30, 31, 30,
                                                  31, 31, 30, 31, 30, 31};
    for (unsigned month = 1; month <= 12; ++month) {
        for (unsigned day = 1; day <= lengths[month]; ++day) {
            for (unsigned weekday = 0; weekday < 7; ++weekday) {
                if (has_day(month, day, weekday)) {
                    return true;
                }
            }
        }
    }
    return false;
}

void check_zone(std::string_view zone) {
    static_cast<void>(zone_named(zone));
}

namespace {

// The lowest bit that is not below `from`; 64 if there is none.
unsigned bit_from(std::uint64_t bits, unsigned from) noexcept {
    const std::uint64_t rest = from < 64 ? bits >> from << from : 0;
    return static_cast<unsigned>(std::countr_zero(rest));
}

// The highest bit that is not above `to`; 64 if there is none.
unsigned bit_up_to(std::uint64_t bits, unsigned to) noexcept {
    const std::uint64_t rest = to < 63 ? bits & ((std::uint64_t{1} << (to + 1)) - 1) : bits;
    return rest == 0 ? 64 : 63 - static_cast<unsigned>(std::countl_zero(rest));
}

constexpr unsigned no_bit = 64;

std::chrono::seconds time_of_day(unsigned hour, unsigned minute, unsigned second) noexcept {
    return std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
}

}  // namespace

std::optional<std::chrono::seconds> cron::time_from(std::chrono::seconds least) const noexcept {
    const auto count = static_cast<unsigned>(least.count());
    unsigned second = bit_from(seconds_, count % 60);
    unsigned minute = count / 60 % 60;
    unsigned hour = count / 3600;
    if (second == no_bit || (minutes_ >> minute & 1) == 0 || (hours_ >> hour & 1) == 0) {
        second = bit_from(seconds_, 0);
        minute = bit_from(minutes_, (hours_ >> hour & 1) != 0 ? minute + 1 : no_bit);
    }
    if (minute == no_bit) {
        minute = bit_from(minutes_, 0);
        hour = bit_from(hours_, hour + 1);
    }
    return hour == no_bit ? std::nullopt : std::optional(time_of_day(hour, minute, second));
}

std::optional<std::chrono::seconds> cron::time_up_to(std::chrono::seconds most) const noexcept {
    const auto count = static_cast<unsigned>(most.count());
    unsigned second = bit_up_to(seconds_, count % 60);
    unsigned minute = count / 60 % 60;
    unsigned hour = count / 3600;
    const bool has_hour = (hours_ >> hour & 1) != 0;
    if (second == no_bit || (minutes_ >> minute & 1) == 0 || !has_hour) {
        second = bit_up_to(seconds_, 59);
        minute = has_hour && minute > 0 ? bit_up_to(minutes_, minute - 1) : no_bit;
    }
    if (minute == no_bit) {
        minute = bit_up_to(minutes_, 59);
        hour = hour > 0 ? bit_up_to(hours_, hour - 1) : no_bit;
    }
    return hour == no_bit ? std::nullopt : std::optional(time_of_day(hour, minute, second));
}

std::optional<timestamp> cron::next_on_even_clock(timestamp after, timestamp until,
                                                  std::chrono::seconds offset) const {
    const date::local_seconds first{
        (std::chrono::floor<std::chrono::seconds>(after) + std::chrono::seconds(1) + offset)
            .time_since_epoch()};
    const local_days today = date::floor<date::days>(first);
    for (int days = 0; days < max_days; ++days) {
        const local_days day = today + date::days(days);
        if (timestamp(day.time_since_epoch() - offset) >= until) {
            return std::nullopt;
        }
        const date::year_month_day named(day);
        if (!has_day(static_cast<unsigned>(named.month()), static_cast<unsigned>(named.day()),
                     date::weekday(day).c_encoding())) {
            continue;
        }
        const auto time = time_from(days == 0 ? first - day : std::chrono::seconds(0));
        if (time.has_value()) {
            const timestamp slot((day + *time).time_since_epoch() - offset);
            return slot < until ? std::optional(slot) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<timestamp> cron::latest_on_even_clock(timestamp since, timestamp until,
                                                    std::chrono::seconds offset) const {
    const date::local_seconds last{
        (std::chrono::floor<std::chrono::seconds>(until) + offset).time_since_epoch()};
    const local_days today = date::floor<date::days>(last);
    for (local_days day = today;; day -= date::days(1)) {
        const timestamp end_of_day((day + date::days(1)).time_since_epoch() - offset);
        if (end_of_day <= since) {
            return std::nullopt;
        }
        const date::year_month_day named(day);
        if (!has_day(static_cast<unsigned>(named.month()), static_cast<unsigned>(named.day()),
                     date::weekday(day).c_encoding())) {
            continue;
        }
        constexpr std::chrono::seconds last_second(86'399);
        if (const auto time = time_up_to(day == today ? last - day : last_second)) {
            const timestamp slot((day + *time).time_since_epoch() - offset);
            return slot > since ? std::optional(slot) : std::nullopt;
        }
    }
}

timestamp cron::next_after(timestamp after, std::string_view zone_name) const {
    const date::time_zone& zone = zone_named(zone_name);
    if (every_.count() > 0) {
        const auto count = std::chrono::floor<std::chrono::microseconds>(after.time_since_epoch()) /
                           std::chrono::microseconds(every_);
        return timestamp((count + 1) * every_);
    }
    if (const even_clock even(zone, after); even.contains(after)) {
        if (const auto slot = next_on_even_clock(after, even.end, even.offset)) {
            return *slot;
        }
    }
    // Includes the day before: where the clock is set back over midnight, the end of that day
    // repeats.
    const local_days today = local_day_of(zone, after);
    std::optional<timestamp> best;
    for (int offset = -1; offset < max_days && !best.has_value(); ++offset) {
        const local_days day = today + date::days(offset);
        const date::year_month_day named(day);
        if (!has_day(static_cast<unsigned>(named.month()), static_cast<unsigned>(named.day()),
                     date::weekday(day).c_encoding())) {
            continue;
        }
        slots_of_day(zone, day, seconds_, minutes_, hours_, is_time_of_day_, [&](timestamp slot) {
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
    if (every_.count() > 0) {
        const timestamp slot(until.time_since_epoch() / std::chrono::microseconds(every_) * every_);
        return slot > since ? std::optional(slot) : std::nullopt;
    }
    if (const even_clock even(zone, until); even.contains(until) && even.contains(since)) {
        return latest_on_even_clock(since, until, even.offset);
    }
    const local_days last = local_day_of(zone, until);
    std::optional<timestamp> best;
    for (int offset = -1; offset < max_days && !best.has_value(); ++offset) {
        const local_days day = last - date::days(offset);
        if (day + date::days(2) < local_day_of(zone, since)) {
            break;
        }
        const date::year_month_day named(day);
        if (!has_day(static_cast<unsigned>(named.month()), static_cast<unsigned>(named.day()),
                     date::weekday(day).c_encoding())) {
            continue;
        }
        slots_of_day(zone, day, seconds_, minutes_, hours_, is_time_of_day_, [&](timestamp slot) {
            if (slot > since && slot <= until && (!best.has_value() || slot > *best)) {
                best = slot;
            }
        });
    }
    return best;
}

}  // namespace weir::service
