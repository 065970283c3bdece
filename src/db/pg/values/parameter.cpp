// SPDX-License-Identifier: MIT
// Values as text that the server parses to the same value: numbers in the fewest digits that are
// exact, times in ISO form and UTC, elements of arrays in quotes.

#include "base/quoted.hpp"
#include "db/pg/values/civil_time.hpp"

#include <weir/db/pg/parameter.hpp>
#include <weir/error.hpp>

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
    if (!(std::abs(seconds) < 9.22337203e12)) {  // the range of 64 bits of microseconds
        throw db::mapping_error("a point in time is out of the range of PostgreSQL");
    }
}

void write_time(std::string& to, std::int64_t microseconds) {
    constexpr std::int64_t day = 86'400'000'000;
    const std::int64_t days = microseconds / day - (microseconds % day < 0 ? 1 : 0);
    std::int64_t rest = microseconds - days * day;
    const civil_date date = civil_from_days(days);
    const bool before_christ = date.year <= 0;  // the year before 1 is 1 BC
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

void append_hex(std::string& to, const blob& bytes) {
    to.reserve(to.size() + 2 * bytes.size() + 1);
    for (const std::byte each : bytes) {
        base::append_hex(to, static_cast<char>(each), "0123456789abcdef");
    }
}

void write_element(std::string& to, const blob& bytes) {
    to += "\"\\\\x";
    append_hex(to, bytes);
    to += '"';
}

void check_sql(std::string_view sql) {
    if (sql.find('\0') != std::string_view::npos) {
        throw invalid_argument("pg: the SQL contains a NUL");
    }
}

void check(const std::vector<parameter>& all, std::size_t most_bytes) {
    constexpr std::size_t most = 65'535;
    if (all.size() > most) {
        throw db::mapping_error("a query has " + std::to_string(all.size()) +
                                " parameters; PostgreSQL allows at most 65535: pass an array");
    }
    std::size_t bytes = 0;
    for (std::size_t index = 0; index < all.size(); ++index) {
        if (const std::string* const text = all[index].text()) {
            if (text->find('\0') != std::string::npos) {
                throw db::mapping_error("parameter $" + std::to_string(index + 1) +
                                        " contains a NUL, which PostgreSQL does not allow in text; "
                                        "send bytes, for a bytea");
            }
            bytes += text->size();
        } else if (const blob* const binary = all[index].bytes()) {
            bytes += binary->size();
        }
        bytes += 8;
        if (bytes > most_bytes) {
            throw db::mapping_error("parameters up to $" + std::to_string(index + 1) + " have " +
                                    std::to_string(bytes) + " bytes; PostgreSQL allows at most " +
                                    std::to_string(most_bytes));
        }
    }
}

}  // namespace weir::pg::detail
