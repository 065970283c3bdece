// SPDX-License-Identifier: MIT
// The text has been parsed, so brackets match and quotes close: one pass that tells texts from the
// rest is enough. Two texts are compared in a form that each value has only one of.

#include "base/raw_json.hpp"

#include "base/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

namespace weir::base {

namespace {

constexpr bool is_blank(char letter) noexcept {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

// Behind the text whose opening quote is at `at`.
std::size_t end_of_text(std::string_view json, std::size_t at) noexcept {
    for (++at; at < json.size() && json[at] != '"'; ++at) {
        at += json[at] == '\\' ? 1 : 0;
    }
    return at + 1;
}

std::size_t skip_blanks(std::string_view json, std::size_t at) noexcept {
    while (at < json.size() && is_blank(json[at])) {
        ++at;
    }
    return at;
}

// Behind the value that begins at `at`.
std::size_t end_of_value(std::string_view json, std::size_t at) noexcept {
    std::size_t depth = 0;
    while (at < json.size()) {
        const char letter = json[at];
        if (letter == '"') {
            at = end_of_text(json, at);
            if (depth == 0) {
                return at;
            }
            continue;
        }
        if (letter == '{' || letter == '[') {
            ++depth;
        } else if (letter == '}' || letter == ']') {
            if (depth == 0) {
                return at;  // the end of the object or array around a number or a word
            }
            if (--depth == 0) {
                return at + 1;
            }
        } else if (depth == 0 && (letter == ',' || is_blank(letter))) {
            return at;
        }
        ++at;
    }
    return at;
}

// The code unit behind '\u'.
unsigned read_unit(std::string_view digits) noexcept {
    unsigned unit = 0;
    std::from_chars(digits.data(), digits.data() + std::min<std::size_t>(digits.size(), 4), unit,
                    16);
    return unit;
}

void append_code_point(std::string& to, unsigned code) {
    const auto add = [&](unsigned byte) { to += static_cast<char>(byte); };
    if (code < 0x80) {
        add(code);
    } else if (code < 0x800) {
        add(0xc0 | code >> 6);
        add(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        add(0xe0 | code >> 12);
        add(0x80 | (code >> 6 & 0x3f));
        add(0x80 | (code & 0x3f));
    } else {
        add(0xf0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3f));
        add(0x80 | (code >> 6 & 0x3f));
        add(0x80 | (code & 0x3f));
    }
}

// Appends the character that an escape means, and returns the escape's length.
std::size_t append_unescaped(std::string& to, std::string_view escape) {
    constexpr std::string_view names = "bfnrt";
    constexpr std::string_view meant = "\b\f\n\r\t";
    const char letter = escape.size() > 1 ? escape[1] : '\\';
    if (letter != 'u') {
        const std::size_t index = names.find(letter);
        to += index == std::string_view::npos ? letter : meant[index];
        return 2;
    }
    const unsigned unit = read_unit(escape.substr(2));
    if (unit >= 0xd800 && unit < 0xdc00 && escape.size() >= 12) {
        const unsigned low = read_unit(escape.substr(8));
        append_code_point(to, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
        return 12;
    }
    append_code_point(to, unit);
    return 6;
}

// What a text between quotes means.
std::string unescaped(std::string_view written) {
    std::string text;
    while (!written.empty()) {
        const std::size_t plain = std::min(written.find('\\'), written.size());
        text += written.substr(0, plain);
        written.remove_prefix(plain);
        if (!written.empty()) {
            written.remove_prefix(std::min(append_unescaped(text, written), written.size()));
        }
    }
    return text;
}

bool is_name(std::string_view written, std::string_view name) noexcept {
    while (!written.empty() && !name.empty()) {
        char letter = written.front();
        std::size_t taken = 1;
        if (letter == '\\' && written.substr(1).starts_with('u')) {
            const unsigned unit = read_unit(written.substr(2));
            letter = unit < 0x80 ? static_cast<char>(unit) : '\0';
            taken = 6;
        } else if (letter == '\\') {
            return false;  // names of ours have no such characters
        }
        if (letter != name.front()) {
            return false;
        }
        written.remove_prefix(std::min(taken, written.size()));
        name.remove_prefix(1);
    }
    return written.empty() && name.empty();
}

// The digits without zeros at both ends, and the exponent of a point before them.
void append_canonical_number(std::string& to, std::string_view number) {
    std::string digits;
    std::int64_t exponent = 0;
    std::size_t at = number.front() == '-' ? 1 : 0;
    bool is_fraction = false;
    for (; at < number.size() && number[at] != 'e' && number[at] != 'E'; ++at) {
        if (number[at] == '.') {
            is_fraction = true;
            continue;
        }
        if (digits.empty() && number[at] == '0') {
            exponent -= is_fraction ? 1 : 0;
            continue;
        }
        digits += number[at];
        exponent += is_fraction ? 0 : 1;
    }
    if (at < number.size()) {
        std::string_view written = number.substr(at + 1);
        written.remove_prefix(written.starts_with('+') ? 1 : 0);
        std::int64_t shift = 0;
        const auto read = std::from_chars(written.data(), written.data() + written.size(), shift);
        if (read.ec != std::errc()) {
            to += number;  // beyond what a number can be: as it was written
            return;
        }
        constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 2;
        exponent += std::clamp(shift, -limit, limit);
    }
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.empty()) {
        to += '0';
        return;
    }
    to += number.front() == '-' ? "-" : "";
    to += digits;
    to += 'e';
    append_number(to, exponent);
}

void append_canonical(std::string& to, std::string_view json);

void append_canonical_object(std::string& to, std::string_view object) {
    std::vector<std::pair<std::string, std::string_view>> members;
    std::size_t at = skip_blanks(object, 1);
    while (at < object.size() && object[at] == '"') {
        const std::size_t begin = at + 1;
        at = end_of_text(object, at);
        std::string name = unescaped(object.substr(begin, at - begin - 1));
        at = skip_blanks(object, skip_blanks(object, at) + 1);  // the colon
        const std::size_t end = end_of_value(object, at);
        members.emplace_back(std::move(name), object.substr(at, end - at));
        at = skip_blanks(object, skip_blanks(object, end) + 1);  // the comma, or the end
    }
    std::ranges::sort(members);
    to += '{';
    for (const auto& [name, value] : members) {
        append_json_string(to, name);
        to += ':';
        append_canonical(to, value);
        to += ',';
    }
    to += '}';
}

void append_canonical(std::string& to, std::string_view json) {
    json = trim_json(json);
    switch (json.empty() ? 'n' : json.front()) {
        case '{':
            append_canonical_object(to, json);
            break;
        case '[':
            to += '[';
            for (const std::string_view each : raw_elements(json)) {
                append_canonical(to, each);
                to += ',';
            }
            to += ']';
            break;
        case '"':
            append_json_string(to, unescaped(json.substr(1, json.size() - 2)));
            break;
        case 't':
        case 'f':
        case 'n':
            to += json;
            break;
        default:
            append_canonical_number(to, json);
            break;
    }
}

}  // namespace

std::string compact_json(std::string_view json) {
    std::string compact;
    compact.reserve(json.size());
    for (std::size_t at = 0; at < json.size();) {
        const std::size_t begin = at;
        if (json[at] == '"') {
            at = end_of_text(json, at);
        } else {
            while (at < json.size() && json[at] != '"' && !is_blank(json[at])) {
                ++at;
            }
        }
        compact += json.substr(begin, at - begin);
        at = skip_blanks(json, at);
    }
    return compact;
}

std::string_view trim_json(std::string_view json) noexcept {
    json.remove_prefix(skip_blanks(json, 0));
    while (!json.empty() && is_blank(json.back())) {
        json.remove_suffix(1);
    }
    return json;
}

std::string_view raw_member(std::string_view object, std::string_view name) noexcept {
    std::size_t at = skip_blanks(object, 0) + 1;
    for (;;) {
        at = skip_blanks(object, at);
        if (at >= object.size() || object[at] != '"') {
            return {};
        }
        const std::size_t begin = at + 1;
        at = end_of_text(object, at);
        const std::string_view key = object.substr(begin, at - begin - 1);
        at = skip_blanks(object, at);
        at = skip_blanks(object, at + 1);  // the colon
        const std::size_t end = end_of_value(object, at);
        if (is_name(key, name)) {
            return object.substr(at, end - at);
        }
        at = skip_blanks(object, end) + 1;  // the comma, or the end
    }
}

std::vector<std::string_view> raw_elements(std::string_view array) {
    std::vector<std::string_view> found;
    std::size_t at = skip_blanks(array, skip_blanks(array, 0) + 1);
    while (at < array.size() && array[at] != ']') {
        const std::size_t end = end_of_value(array, at);
        found.push_back(array.substr(at, end - at));
        at = skip_blanks(array, skip_blanks(array, end) + 1);
    }
    return found;
}

bool same_json(std::string_view one, std::string_view other) {
    if (one == other) {
        return true;
    }
    std::string first;
    std::string second;
    append_canonical(first, one);
    append_canonical(second, other);
    return first == second;
}

}  // namespace weir::base
