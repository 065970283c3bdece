// SPDX-License-Identifier: MIT
// Parses the server's text forms. Each reader first checks the type of the column, then that the
// whole text is valid: anything unexpected is an error, never a guess.

#include "db/pg/values/civil_time.hpp"
#include "db/pg/values/types.hpp"

#include <weir/db/pg/value.hpp>

#include <libpq-fe.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace weir::pg {

namespace {

using detail::type;

bool is_integer(std::uint32_t oid) noexcept {
    return oid == static_cast<std::uint32_t>(type::int2) ||
           oid == static_cast<std::uint32_t>(type::int4) ||
           oid == static_cast<std::uint32_t>(type::int8) ||
           oid == static_cast<std::uint32_t>(type::oid);
}
bool is_time(std::uint32_t oid) noexcept {
    return oid == static_cast<std::uint32_t>(type::date) ||
           oid == static_cast<std::uint32_t>(type::timestamp) ||
           oid == static_cast<std::uint32_t>(type::timestamptz);
}
bool is(std::uint32_t oid, type wanted) noexcept {
    return oid == static_cast<std::uint32_t>(wanted);
}

template <class Number>
bool read_all(std::string_view text, Number& number) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

int hex_digit(char digit) noexcept {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    const char lower = static_cast<char>(digit | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// '\x4a4b', or the older form 'JK\\\377': a server may be set to it.
bool read_hex(std::string_view text, blob& bytes) {
    if (text.size() % 2 != 0) {
        return false;
    }
    bytes.resize(text.size() / 2);
    for (std::size_t index = 0; index < bytes.size(); ++index) {
        const int high = hex_digit(text[2 * index]);
        const int low = hex_digit(text[2 * index + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[index] = static_cast<std::byte>(high * 16 + low);
    }
    return true;
}
bool read_escaped(std::string_view text, blob& bytes) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\') {
            bytes.push_back(static_cast<std::byte>(text[at]));
        } else if (at + 1 < text.size() && text[at + 1] == '\\') {
            bytes.push_back(static_cast<std::byte>('\\'));
            ++at;
        } else {
            unsigned code = 0;
            const char* const from = text.data() + at + 1;
            if (text.size() - at < 4 || std::from_chars(from, from + 3, code, 8).ptr != from + 3 ||
                code > 255) {
                return false;
            }
            bytes.push_back(static_cast<std::byte>(code));
            at += 3;
        }
    }
    return true;
}

// Reads numbers and the text between them.
class time_reader {
public:
    explicit time_reader(std::string_view text) noexcept : rest_(text) {}
    bool number(std::int64_t& to) noexcept {
        if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') {
            return false;
        }
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), to);
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return error == std::errc{};
    }
    bool skip(std::string_view expected) noexcept {
        if (!rest_.starts_with(expected)) {
            return false;
        }
        rest_.remove_prefix(expected.size());
        return true;
    }
    std::size_t left() const noexcept { return rest_.size(); }

private:
    std::string_view rest_;
};

// '2024-02-29', '2024-02-29 12:30:00.25', '... +05:30', '0044-03-15 BC'.
bool read_iso(std::string_view text, std::optional<std::int64_t>& microseconds) {
    time_reader reader(text);
    detail::civil_date date;
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    std::int64_t seconds = 0;
    std::int64_t fraction = 0;
    std::int64_t offset = 0;
    if (!reader.number(date.year) || !reader.skip("-") || !reader.number(date.month) ||
        !reader.skip("-") || !reader.number(date.day)) {
        return false;
    }
    if (reader.left() > 3) {
        if (!reader.skip(" ") || !reader.number(hours) || !reader.skip(":") ||
            !reader.number(minutes) || !reader.skip(":") || !reader.number(seconds)) {
            return false;
        }
        if (reader.skip(".")) {
            const std::size_t before = reader.left();
            if (!reader.number(fraction) || before - reader.left() > 6) {
                return false;
            }
            for (std::size_t digits = before - reader.left(); digits < 6; ++digits) {
                fraction *= 10;
            }
        }
        const bool west = reader.skip("-");
        if (west || reader.skip("+")) {
            std::int64_t parts[3] = {0, 0, 0};
            if (!reader.number(parts[0]) || (reader.skip(":") && !reader.number(parts[1])) ||
                (reader.skip(":") && !reader.number(parts[2]))) {
                return false;
            }
            offset = (parts[0] * 60 + parts[1]) * 60 + parts[2];
            offset = west ? -offset : offset;
        }
    }
    if (reader.skip(" BC")) {
        date.year = 1 - date.year;
    }
    if (reader.left() != 0 || date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31 ||
        date.year > 6'000'000) {
        return false;
    }
    const std::int64_t whole =
        detail::days_from_civil(date) * 86'400 + (hours * 60 + minutes) * 60 + seconds - offset;
    std::int64_t count = 0;
    if (!__builtin_mul_overflow(whole, std::int64_t{1'000'000}, &count) &&
        !__builtin_add_overflow(count, fraction, &count)) {
        microseconds = count;  // else: in the last years before 294277, or a date even later
    }
    return true;
}

}  // namespace

void value::throw_unfit(const std::string& wanted) const {
    const char* const name = PQfname(result_, column_);
    std::string what = "column " + std::to_string(column_);
    if (name != nullptr) {
        what += " '" + std::string(name) + "'";
    }
    what += " of type " + detail::type_name(type_) + (null_ ? " is null" : "");
    throw db::mapping_error(what + (null_ ? " and is read as " : " cannot be read as ") + wanted);
}

bool value::read_bool() const {
    if (null_ || !is(type_, type::boolean)) {
        throw_unfit("a bool");
    }
    return text_ == "t";
}

std::int64_t value::read_integer() const {
    std::int64_t number = 0;
    if (null_ || !is_integer(type_) || !read_all(text_, number)) {
        throw_unfit("an integer");
    }
    return number;
}

double value::read_double() const {
    double number = 0;
    const bool fits = is_integer(type_) || is(type_, type::float4) || is(type_, type::float8) ||
                      is(type_, type::numeric);
    if (null_ || !fits) {
        throw_unfit("a number");
    }
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc{} || end != text_.data() + text_.size()) {
        throw_unfit("a number of its range");  // a numeric may have thousands of digits
    }
    return number;
}

std::string_view value::read_text() const {
    if (null_ || is_integer(type_) || is_time(type_) || is(type_, type::boolean) ||
        is(type_, type::bytea) || is(type_, type::float4) || is(type_, type::float8)) {
        throw_unfit("text");
    }
    return text_;
}

blob value::read_bytes() const {
    if (null_ || !is(type_, type::bytea)) {
        throw_unfit("bytes");
    }
    blob bytes;
    if (!(text_.starts_with("\\x") ? read_hex(text_.substr(2), bytes)
                                   : read_escaped(text_, bytes))) {
        throw_unfit("bytes");
    }
    return bytes;
}

std::int64_t value::read_microseconds() const {
    if (null_ || !is_time(type_)) {
        throw_unfit("a point in time");
    }
    if (text_ == "infinity") {
        return std::numeric_limits<std::int64_t>::max();
    }
    if (text_ == "-infinity") {
        return std::numeric_limits<std::int64_t>::min();
    }
    std::optional<std::int64_t> microseconds;
    if (!read_iso(text_, microseconds)) {
        throw_unfit("a point in time: DateStyle of the session must be ISO");
    }
    if (!microseconds.has_value()) {
        throw_unfit("a point in time that its type can hold");
    }
    return *microseconds;
}

// '{1,2,NULL}', '{"a \"quoted\" one",b}', '[0:1]={1,2}' with a first index other than 1.
value::array_reader value::start_array() const {
    const bool possible = detail::element_type(type_) != 0 || type_ >= detail::first_user_type;
    std::string_view rest = text_;
    if (rest.starts_with('[')) {
        const std::size_t equals = rest.find('=');
        rest.remove_prefix(equals == std::string_view::npos ? 0 : equals + 1);
    }
    if (null_ || !possible || !rest.starts_with('{') || !rest.ends_with('}')) {
        throw_unfit("an array");
    }
    rest.remove_prefix(1);
    if (rest.starts_with('{')) {
        throw_unfit("an array: it has more than one dimension");
    }
    return {.rest = rest, .scratch = {}};
}

bool value::next_element(array_reader& reader, value& element) const {
    std::string_view& rest = reader.rest;
    if (rest == "}") {
        rest = {};
    }
    if (rest.empty()) {
        return false;
    }
    const bool quoted = rest[0] == '"';
    std::size_t at = quoted ? 1 : 0;
    reader.scratch.clear();
    for (;; ++at) {
        if (at == rest.size()) {
            throw_unfit("an array: it has no end");
        }
        if (quoted ? rest[at] == '"' : rest[at] == ',' || rest[at] == '}') {
            break;
        }
        if (rest[at] == '\\' && at + 1 < rest.size()) {
            ++at;
        }
        reader.scratch += rest[at];
    }
    element.null_ = !quoted && reader.scratch == "NULL";
    element.text_ = element.null_ ? std::string_view() : std::string_view(reader.scratch);
    element.type_ = detail::element_type(type_);
    at += quoted ? 1 : 0;
    if (at >= rest.size() || (rest[at] != ',' && rest[at] != '}')) {
        throw_unfit("an array");
    }
    // After the last one nothing is left; after a comma there is one more.
    rest.remove_prefix(rest[at] == ',' ? at + 1 : rest.size());
    return true;
}

}  // namespace weir::pg
