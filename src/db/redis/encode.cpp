// SPDX-License-Identifier: MIT
// A command is its number of words, then each word behind its length.

#include <weir/db/redis/detail/encode.hpp>
#include <weir/error.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace weir::redis::detail {

namespace {

template <class Number>
void append_digits(std::string& to, Number number) {
    std::array<char, 40> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    append_word(to, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

}  // namespace

void append_count(std::string& to, char kind, std::size_t count) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), count).ptr;
    to += kind;
    to.append(digits.data(), end).append("\r\n");
}

void append_word(std::string& to, std::string_view word) {
    append_count(to, '$', word.size());
    to.append(word).append("\r\n");
}

void append_number(std::string& to, std::int64_t number) {
    append_digits(to, number);
}

void append_number(std::string& to, double number) {
    if (!std::isfinite(number)) {
        throw invalid_argument("redis: a number in a command is not finite");
    }
    append_digits(to, number);
}

}  // namespace weir::redis::detail
