// SPDX-License-Identifier: MIT
// The text has been parsed, so brackets match and quotes close: one pass that tells texts from the
// rest is enough.

#include "service/api/json/raw_json.hpp"

namespace weir::service::detail {

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
        if (key == name) {
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

}  // namespace weir::service::detail
