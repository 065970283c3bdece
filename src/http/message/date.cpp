// SPDX-License-Identifier: MIT
// Dates are read from left to right by a cursor that remembers whether all has fitted so far. The
// calendar is that of <chrono>, which knows neither locales nor time zones.

#include <weir/http/date.hpp>

#include <algorithm>
#include <cstdint>

namespace weir::http {

namespace {

using std::chrono::system_clock;

constexpr std::array<std::string_view, 7> days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                  "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::size_t short_day = 3;

class cursor {
public:
    explicit cursor(std::string_view text) noexcept : rest_(text) {}

    bool takes(std::string_view expected) noexcept {
        if (!rest_.starts_with(expected)) {
            return false;
        }
        rest_.remove_prefix(expected.size());
        return true;
    }
    void take(std::string_view expected) noexcept { fits_ = takes(expected) && fits_; }
    unsigned take_number(std::size_t digits) noexcept {
        unsigned number = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') {
                fits_ = false;
                return 0;
            }
            number = number * 10 + static_cast<unsigned>(rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return number;
    }
    // From 1.
    unsigned take_month() noexcept {
        for (unsigned i = 0; i < months.size(); ++i) {
            if (takes(months[i])) {
                return i + 1;
            }
        }
        fits_ = false;
        return 0;
    }
    bool fits() const noexcept { return fits_; }
    bool is_done() const noexcept { return fits_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool fits_ = true;
};

struct fields {
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;
};

void take_time(cursor& from, fields& to) noexcept {
    to.hour = from.take_number(2);
    from.take(":");
    to.minute = from.take_number(2);
    from.take(":");
    to.second = from.take_number(2);
}

// 'Sun, 06 Nov 1994 08:49:37 GMT', after the comma.
void take_fixed(cursor& from, fields& to) noexcept {
    from.take(" ");
    to.day = from.take_number(2);
    from.take(" ");
    to.month = from.take_month();
    from.take(" ");
    to.year = static_cast<int>(from.take_number(4));
    from.take(" ");
    take_time(from, to);
    from.take(" GMT");
}

// 'Sunday, 06-Nov-94 08:49:37 GMT', after the comma.
void take_rfc850(cursor& from, fields& to) noexcept {
    from.take(" ");
    to.day = from.take_number(2);
    from.take("-");
    to.month = from.take_month();
    from.take("-");
    to.year = static_cast<int>(from.take_number(2));
    from.take(" ");
    take_time(from, to);
    from.take(" GMT");
}

// 'Sun Nov  6 08:49:37 1994', after the first blank.
void take_asctime(cursor& from, fields& to) noexcept {
    to.month = from.take_month();
    from.take(" ");
    to.day = from.takes(" ") ? from.take_number(1) : from.take_number(2);
    from.take(" ");
    take_time(from, to);
    from.take(" ");
    to.year = static_cast<int>(from.take_number(4));
}

std::optional<std::chrono::sys_seconds> moment_of(const fields& parts) noexcept {
    const std::chrono::year_month_day date(std::chrono::year(parts.year),
                                           std::chrono::month(parts.month),
                                           std::chrono::day(parts.day));
    if (!date.ok() || parts.hour > 23 || parts.minute > 59 || parts.second > 60) {
        return std::nullopt;
    }
    return std::chrono::sys_days(date) + std::chrono::hours(parts.hour) +
           std::chrono::minutes(parts.minute) + std::chrono::seconds(parts.second);
}

// The latest year with these two digits that is not more than 50 years ahead.
int full_year(int two_digits, system_clock::time_point now) noexcept {
    const std::chrono::year_month_day today(std::chrono::floor<std::chrono::days>(now));
    const int latest = static_cast<int>(today.year()) + 50;
    return latest - (((latest - two_digits) % 100) + 100) % 100;
}

system_clock::time_point clamped(std::chrono::sys_seconds moment) noexcept {
    const auto last = std::chrono::floor<std::chrono::seconds>(system_clock::time_point::max());
    const auto first = std::chrono::ceil<std::chrono::seconds>(system_clock::time_point::min());
    return moment > last    ? system_clock::time_point::max()
           : moment < first ? system_clock::time_point::min()
                            : system_clock::time_point(moment);
}

}  // namespace

std::array<char, 29> date_characters(system_clock::time_point when) noexcept {
    // Nanoseconds would overflow at the first day of the clock, which is not a whole one.
    const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
    const auto day = std::chrono::floor<std::chrono::days>(seconds);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(seconds - day);
    std::array<char, 29> written{};
    char* at = written.data();
    const auto text = [&](std::string_view piece) {
        at = std::copy(piece.begin(), piece.end(), at);
    };
    const auto number = [&](unsigned value, int digits) {
        for (int i = digits - 1; i >= 0; --i, value /= 10) {
            at[i] = static_cast<char>('0' + value % 10);
        }
        at += digits;
    };
    text(days[std::chrono::weekday(day).c_encoding()].substr(0, short_day));
    text(", ");
    number(static_cast<unsigned>(date.day()), 2);
    text(" ");
    text(months[static_cast<unsigned>(date.month()) - 1]);
    text(" ");
    number(static_cast<unsigned>(static_cast<int>(date.year())), 4);
    text(" ");
    number(static_cast<unsigned>(time.hours().count()), 2);
    text(":");
    number(static_cast<unsigned>(time.minutes().count()), 2);
    text(":");
    number(static_cast<unsigned>(time.seconds().count()), 2);
    text(" GMT");
    return written;
}

std::string format_date(system_clock::time_point when) {
    const std::array<char, 29> written = date_characters(when);
    return {written.data(), written.size()};
}

std::optional<system_clock::time_point> parse_date(std::string_view text,
                                                   system_clock::time_point now) noexcept {
    for (unsigned day = 0; day < days.size(); ++day) {
        cursor from(text);
        fields read;
        if (from.takes(days[day])) {
            from.take(",");
            take_rfc850(from, read);
            read.year = full_year(read.year, now);
        } else if (!from.takes(days[day].substr(0, short_day))) {
            continue;
        } else if (from.takes(",")) {
            take_fixed(from, read);
        } else {
            from.take(" ");
            take_asctime(from, read);
        }
        const auto moment = from.is_done() ? moment_of(read) : std::nullopt;
        // A leap second belongs to the day that it ends.
        const auto within =
            moment ? *moment - std::chrono::seconds(read.second) : std::chrono::sys_seconds();
        if (!moment ||
            std::chrono::weekday(std::chrono::floor<std::chrono::days>(within)).c_encoding() !=
                day) {
            return std::nullopt;
        }
        return clamped(*moment);
    }
    return std::nullopt;
}

}  // namespace weir::http
