// SPDX-License-Identifier: MIT
// Each field becomes a set of bits.

#include <weir/error.hpp>
#include <weir/service/cron.hpp>
#include <weir/service/schedule.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>
#include <vector>

namespace weir::service {

namespace {

constexpr std::array<std::string_view, 12> month_names = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names = {"sun", "mon", "tue", "wed",
                                                           "thu", "fri", "sat"};

struct field {
    std::string_view name;
    unsigned least;
    unsigned most;
    std::span<const std::string_view> names{};  // of the least and those after it
};
constexpr field minute_field{"minute", 0, 59};
constexpr field hour_field{"hour", 0, 23};
constexpr field day_field{"day", 1, 31};
constexpr field month_field{"month", 1, 12, month_names};
constexpr field weekday_field{"weekday", 0, 7, weekday_names};

[[noreturn]] void refuse(const field& of, std::string_view text) {
    std::string what = "cron: ";
    what += of.name;
    what += " is '";
    what += text;
    what += "'; it must be *, or numbers from " + std::to_string(of.least) + " to " +
            std::to_string(of.most);
    if (!of.names.empty()) {
        what += " or names such as ";
        what += of.names.front();
    }
    what += ", as 1, 1-5, 1,15 or */15";
    throw invalid_argument(what);
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

std::optional<unsigned> parse_value(const field& of, std::string_view text) noexcept {
    for (std::size_t i = 0; i < of.names.size(); ++i) {
        if (is_same_word(text, of.names[i])) {
            return of.least + static_cast<unsigned>(i);
        }
    }
    const std::optional<unsigned> number = parse_number(text);
    return number >= of.least && number <= of.most ? number : std::nullopt;
}

// '5', '1-5', '*', each with '/step'.
std::uint64_t parse_item(const field& of, std::string_view item, std::string_view whole) {
    const std::size_t slash = item.find('/');
    const std::string_view range = item.substr(0, slash);
    unsigned step = 1;
    if (slash != std::string_view::npos) {
        const std::optional<unsigned> given = parse_number(item.substr(slash + 1));
        if (!given.has_value() || *given == 0 || *given > of.most) {
            refuse(of, whole);
        }
        step = *given;
    }
    std::optional<unsigned> first = of.least;
    std::optional<unsigned> last = of.most;
    if (range != "*") {
        const std::size_t dash = range.find('-');
        first = parse_value(of, range.substr(0, dash));
        if (dash != std::string_view::npos) {
            last = parse_value(of, range.substr(dash + 1));
            if (&of == &weekday_field && last == 0U && first > 0U) {
                last = of.most;  // 'fri-sun': weeks end with it, too
            }
        } else if (slash == std::string_view::npos) {
            last = first;  // '5/10' goes on to the end, as other crons have it
        }
    }
    if (!first.has_value() || !last.has_value() || *first > *last) {
        refuse(of, whole);
    }
    std::uint64_t bits = 0;
    for (unsigned each = *first; each <= *last; each += step) {
        bits |= std::uint64_t{1} << each;
    }
    return bits;
}

std::uint64_t parse_field(const field& of, std::string_view text) {
    std::uint64_t bits = 0;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        bits |= parse_item(of, text.substr(begin, end - begin), text);
        begin = end + 1;
    }
    return bits;
}

std::string_view spelled_out(std::string_view text) noexcept {
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

}  // namespace

cron cron::parse(std::string_view text) {
    constexpr std::string_view blanks = " \t";
    const std::vector<std::string_view> words = split(text, blanks);
    const std::vector<std::string_view> fields =
        words.size() == 1 ? split(spelled_out(words.front()), blanks) : words;
    if (fields.size() != 5 || text.size() > 200) {
        throw invalid_argument(
            "cron: '" + std::string(text.substr(0, 200)) +
            "' must have five fields: minute hour day month weekday, such as"
            " '30 2 * * mon-fri', or be @hourly, @daily, @weekly, @monthly, @yearly");
    }
    cron made;
    made.text_ = text;
    made.minutes_ = parse_field(minute_field, fields[0]);
    made.hours_ = static_cast<std::uint32_t>(parse_field(hour_field, fields[1]));
    made.days_ = static_cast<std::uint32_t>(parse_field(day_field, fields[2]));
    made.months_ = static_cast<std::uint32_t>(parse_field(month_field, fields[3]));
    made.weekdays_ = static_cast<std::uint32_t>(parse_field(weekday_field, fields[4]));
    made.weekdays_ |= made.weekdays_ >> 7;  // Sunday is 7, too
    made.any_day_ = fields[2].starts_with('*');
    made.any_weekday_ = fields[4].starts_with('*');
    made.is_time_of_day_ = !fields[0].starts_with('*') && !fields[1].starts_with('*');
    if (!made.comes_ever()) {
        throw invalid_argument("cron: '" + made.text_ +
                               "' never comes: no month given has such a day");
    }
    return made;
}

// Stars with a step restrict their days, but count as stars, so that both must hold: '*/2 * 1'.
bool cron::has_day(unsigned month, unsigned day, unsigned weekday) const noexcept {
    if ((months_ >> month & 1) == 0) {
        return false;
    }
    const bool by_day = (days_ >> day & 1) != 0;
    const bool by_weekday = (weekdays_ >> weekday & 1) != 0;
    return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

bool cron::comes_ever() const noexcept {
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

void check(const schedule& asked) {
    const auto is_plain = [](char each) {
        return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '-' || each == '_' ||
               each == '.';
    };
    if (asked.name.empty() || asked.name.size() > 100 ||
        !std::all_of(asked.name.begin(), asked.name.end(), is_plain)) {
        throw invalid_argument("schedule: name is '" + asked.name.substr(0, 100) +
                               "'; it must have 1 to 100 letters, digits, '-', '_' and '.'");
    }
    static_cast<void>(cron::parse(asked.cron));
    check_zone(asked.zone);
    check(asked.task);
}

}  // namespace weir::service
