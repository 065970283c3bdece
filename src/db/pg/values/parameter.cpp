// SPDX-License-Identifier: MIT
// Values as text that the server reads back to the same value: numbers in the fewest digits that
// say them exactly, times in ISO form and UTC, elements of arrays in quotes.

#include "db/pg/values/civil_time.hpp"

#include <weir/db/pg/parameter.hpp>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace weir::pg::detail {

namespace {

template <class Number>
void write_number(std::string& to, Number number) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    to.append(digits, end);
}

template <class Number>
void write_real(std::string& to, Number number) {
    if (std::isnan(number)) {
        to += "NaN";
    } else if (std::isinf(number)) {
        to += number > 0 ? "Infinity" : "-Infinity";
    } else {
        write_number(to, number);
    }
}

void write_padded(std::string& to, std::int64_t number, int width) {
    const std::string digits = std::to_string(number);
    for (int missing = width - static_cast<int>(digits.size()); missing > 0; --missing) {
        to += '0';
    }
    to += digits;
}

}  // namespace

void write(std::string& to, bool truth) {
    to += truth ? 't' : 'f';
}
void write(std::string& to, std::int64_t number) {
    write_number(to, number);
}
void write(std::string& to, std::uint64_t number) {
    write_number(to, number);
}
void write(std::string& to, double number) {
    write_real(to, number);
}
void write(std::string& to, float number) {
    write_real(to, number);
}

void check_time(double seconds) {
    if (!(std::abs(seconds) < 9.22337203e12)) {  // which 64 bits of microseconds hold
        throw db::mapping_error("a point in time is outside of what PostgreSQL holds");
    }
}

void write_time(std::string& to, std::int64_t microseconds) {
    constexpr std::int64_t day = 86'400'000'000;
    const std::int64_t days = microseconds / day - (microseconds % day < 0 ? 1 : 0);
    std::int64_t rest = microseconds - days * day;
    const civil_date date = civil_from_days(days);
    const bool before_christ = date.year <= 0;  // there is no year 0: 1 BC comes before 1
    write_padded(to, before_christ ? 1 - date.year : date.year, 4);
    to += '-';
    write_padded(to, date.month, 2);
    to += '-';
    write_padded(to, date.day, 2);
    to += ' ';
    const std::int64_t fraction = rest % 1'000'000;
    rest /= 1'000'000;
    write_padded(to, rest / 3600, 2);
    to += ':';
    write_padded(to, rest / 60 % 60, 2);
    to += ':';
    write_padded(to, rest % 60, 2);
    if (fraction != 0) {
        to += '.';
        write_padded(to, fraction, 6);
    }
    to += before_christ ? "+00 BC" : "+00";
}

void write_element(std::string& to, std::string_view text) {
    to.reserve(to.size() + text.size() + 2);
    to += '"';
    for (const char each : text) {
        if (each == '"' || each == '\\') {
            to += '\\';
        }
        to += each;
    }
    to += '"';
}

void write_element(std::string& to, const blob& bytes) {
    constexpr char digits[] = "0123456789abcdef";
    to.reserve(to.size() + 2 * bytes.size() + 5);
    to += "\"\\\\x";
    for (const std::byte each : bytes) {
        to += digits[std::to_integer<unsigned>(each) >> 4U];
        to += digits[std::to_integer<unsigned>(each) & 15U];
    }
    to += '"';
}

void check(const std::vector<parameter>& all, std::size_t most_bytes) {
    constexpr std::size_t most = 65'535;
    if (all.size() > most) {
        throw db::mapping_error("a query has " + std::to_string(all.size()) +
                                " parameters; PostgreSQL takes up to 65535: give it an array");
    }
    std::size_t bytes = 0;
    for (std::size_t index = 0; index < all.size(); ++index) {
        if (const std::string* const text = all[index].text()) {
            if (text->find('\0') != std::string::npos) {
                throw db::mapping_error("parameter $" + std::to_string(index + 1) +
                                        " has a NUL inside, which no text of PostgreSQL may have: "
                                        "send bytes, for a bytea");
            }
            bytes += text->size();
        } else if (const blob* const binary = all[index].bytes()) {
            bytes += binary->size();
        }
        bytes += 8;
        if (bytes > most_bytes) {
            throw db::mapping_error("parameters up to $" + std::to_string(index + 1) + " have " +
                                    std::to_string(bytes) + " bytes; PostgreSQL takes up to " +
                                    std::to_string(most_bytes));
        }
    }
}

}  // namespace weir::pg::detail
