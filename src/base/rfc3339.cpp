// SPDX-License-Identifier: MIT
// Years have four digits, so that texts sort as their times do.

#include "base/rfc3339.hpp"

#include <cstddef>
#include <cstdint>

namespace weir::base {

namespace {

void append_digits(std::string& to, unsigned value, int count) {
    char digits[8];
    for (int i = count; i-- > 0; value /= 10) {
        digits[i] = static_cast<char>('0' + value % 10);
    }
    to.append(digits, static_cast<std::size_t>(count));
}

// The next `count` digits.
bool take_digits(std::string_view& from, std::size_t count, unsigned& number) noexcept {
    if (from.size() < count) {
        return false;
    }
    number = 0;
    for (const char each : from.substr(0, count)) {
        if (each < '0' || each > '9') {
            return false;
        }
        number = number * 10 + static_cast<unsigned>(each - '0');
    }
    from.remove_prefix(count);
    return true;
}

bool take(std::string_view& from, char expected) noexcept {
    if (from.empty() || from.front() != expected) {
        return false;
    }
    from.remove_prefix(1);
    return true;
}

// '.25', of which microseconds are kept.
bool take_fraction(std::string_view& from, unsigned& micros) noexcept {
    micros = 0;
    if (!take(from, '.')) {
        return true;
    }
    std::size_t count = 0;
    for (unsigned scale = 100'000; !from.empty() && from.front() >= '0' && from.front() <= '9';
         scale /= 10, ++count) {
        micros += static_cast<unsigned>(from.front() - '0') * scale;
        from.remove_prefix(1);
    }
    return count > 0;
}

}  // namespace

void append_rfc3339(std::string& to, std::chrono::sys_time<std::chrono::microseconds> at) {
    using namespace std::chrono;
    const auto day = floor<days>(at);
    const year_month_day date(day);
    const auto time = static_cast<std::uint64_t>((at - day).count());
    append_digits(to, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    to += '-';
    append_digits(to, static_cast<unsigned>(date.month()), 2);
    to += '-';
    append_digits(to, static_cast<unsigned>(date.day()), 2);
    to += 'T';
    append_digits(to, static_cast<unsigned>(time / 3'600'000'000), 2);
    to += ':';
    append_digits(to, static_cast<unsigned>(time / 60'000'000 % 60), 2);
    to += ':';
    append_digits(to, static_cast<unsigned>(time / 1'000'000 % 60), 2);
    to += '.';
    append_digits(to, static_cast<unsigned>(time % 1'000'000), 6);
    to += 'Z';
}

std::string to_rfc3339(std::chrono::sys_time<std::chrono::microseconds> at) {
    std::string text;
    append_rfc3339(text, at);
    return text;
}

std::optional<std::chrono::sys_time<std::chrono::microseconds>> parse_rfc3339(
    std::string_view text) noexcept {
    using namespace std::chrono;
    unsigned year_number = 0;
    unsigned month_number = 0;
    unsigned day_number = 0;
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;
    unsigned micros = 0;
    if (!take_digits(text, 4, year_number) || !take(text, '-') ||
        !take_digits(text, 2, month_number) || !take(text, '-') ||
        !take_digits(text, 2, day_number) ||
        !(take(text, 'T') || take(text, 't') || take(text, ' ')) || !take_digits(text, 2, hour) ||
        !take(text, ':') || !take_digits(text, 2, minute) || !take(text, ':') ||
        !take_digits(text, 2, second) || !take_fraction(text, micros)) {
        return std::nullopt;
    }
    minutes offset{0};
    if (!take(text, 'Z') && !take(text, 'z')) {
        const bool is_west = !text.empty() && text.front() == '-';
        unsigned hours_off = 0;
        unsigned minutes_off = 0;
        if (!(take(text, '+') || take(text, '-')) || !take_digits(text, 2, hours_off) ||
            !take(text, ':') || !take_digits(text, 2, minutes_off) || hours_off > 23 ||
            minutes_off > 59) {
            return std::nullopt;
        }
        offset = minutes(hours_off * 60 + minutes_off) * (is_west ? -1 : 1);
    }
    const year_month_day date(year(static_cast<int>(year_number)), month(month_number),
                              day(day_number));
    // A leap second becomes the first second of the next minute, as on clocks without leap seconds.
    if (!text.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60) {
        return std::nullopt;
    }
    const sys_time<microseconds> at = sys_days(date) + hours(hour) + minutes(minute) +
                                      seconds(second) + microseconds(micros) - offset;
    constexpr sys_time<microseconds> end = sys_days(year(10000) / 1 / 1);
    return at >= sys_time<microseconds>() && at < end ? std::optional(at) : std::nullopt;
}

}  // namespace weir::base
