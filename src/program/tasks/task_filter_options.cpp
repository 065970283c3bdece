// SPDX-License-Identifier: MIT
// Times are checked before they are sent, so that an error names the option and its value.

#include "program/tasks/task_filter_options.hpp"

#include <weir/error.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>

namespace weir::program {

namespace {

constexpr bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

// A 0 of the shape stands for any digit.
bool has_shape(std::string_view text, std::string_view shape) {
    return text.size() == shape.size() &&
           std::equal(text.begin(), text.end(), shape.begin(), [](char letter, char wanted) {
               return wanted == '0' ? is_digit(letter) : letter == wanted;
           });
}

int digits_at(std::string_view text, std::size_t begin, std::size_t count) {
    int number = 0;
    std::from_chars(text.data() + begin, text.data() + begin + count, number);
    return number;
}

bool is_date(std::string_view text) {
    return has_shape(text, "0000-00-00") &&
           std::chrono::year_month_day(
               std::chrono::year(digits_at(text, 0, 4)),
               std::chrono::month(static_cast<unsigned>(digits_at(text, 5, 2))),
               std::chrono::day(static_cast<unsigned>(digits_at(text, 8, 2))))
               .ok();
}

bool is_time_of_day(std::string_view text) {
    return has_shape(text, "00:00:00") && digits_at(text, 0, 2) < 24 &&
           digits_at(text, 3, 2) < 60 && digits_at(text, 6, 2) < 60;
}

bool is_zone(std::string_view text) {
    const bool is_offset = has_shape(text, "+00:00") || has_shape(text, "-00:00");
    return text == "Z" || (is_offset && digits_at(text, 1, 2) < 24 && digits_at(text, 4, 2) < 60);
}

}  // namespace

std::string checked_time(const std::string& text) {
    if (is_date(text)) {
        return text + "T00:00:00Z";
    }
    const std::string_view all = text;
    if (all.size() > 19 && all[10] == 'T' && is_date(all.substr(0, 10)) &&
        is_time_of_day(all.substr(11, 8))) {
        std::string_view rest = all.substr(19);
        if (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1])) {
            rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("0123456789", 1)));
        }
        if (is_zone(rest)) {
            return text;
        }
    }
    throw invalid_argument(
        "it must be a time as in 2026-11-15T09:30:00Z, or a day as in "
        "2026-11-15");
}

void add_parameter(http::query_parameters& query, std::string_view name, std::string_view value) {
    if (!value.empty()) {
        query.add(name, value);
    }
}

void add_filter(http::query_parameters& query, const task_filter_settings& settings) {
    add_parameter(query, "kind", settings.kind);
    add_parameter(query, "tag", settings.tag);
    add_parameter(query, "flow_key", settings.flow_key);
    add_parameter(query, "from", settings.from);
    add_parameter(query, "to", settings.to);
}

void add_options(options& to, task_filter_settings& settings) {
    to.text({"-k,--kind", "KIND", "Only tasks of this kind", ""}, settings.kind);
    to.text({"-t,--tag", "TAG", "Only tasks with this tag", ""}, settings.tag);
    to.text({"--flow-key", "KEY", "Only tasks with this flow key", ""}, settings.flow_key);
    to.value(
        {"--from", "TIME", "Only tasks created then or later: 2026-11-15T09:30:00Z, or a day", ""},
        [&settings](const std::string& text) { settings.from = checked_time(text); });
    to.value({"--to", "TIME", "Only tasks created before", ""},
             [&settings](const std::string& text) { settings.to = checked_time(text); });
}

}  // namespace weir::program
