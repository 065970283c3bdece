// SPDX-License-Identifier: MIT
// A command is its number of words, then each word behind its length.

#include <weir/db/redis/detail/encode.hpp>
#include <weir/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace weir::redis::detail {

namespace {

// Redis ignores case; the second word is in capitals.
bool is_word(std::string_view word, std::string_view name) noexcept {
    return word.size() == name.size() &&
           std::equal(word.begin(), word.end(), name.begin(), [](char one, char other) {
               return (one >= 'a' && one <= 'z' ? one - 'a' + 'A' : one) == other;
           });
}

template <class Number>
void append_digits(std::string& to, Number number) {
    std::array<char, 40> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    append_word(to, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

}  // namespace

void check_command(std::string_view name, std::string_view second) {
    constexpr std::array<std::string_view, 10> refused = {
        "SUBSCRIBE",    "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE",
        "SUNSUBSCRIBE", "MONITOR",    "HELLO",      "SYNC",        "PSYNC"};
    const bool is_refused =
        std::any_of(refused.begin(), refused.end(),
                    [&](std::string_view each) { return is_word(name, each); }) ||
        (is_word(name, "CLIENT") && is_word(second, "REPLY"));
    if (is_refused) {
        throw invalid_argument("redis: " + std::string(name) +
                               " changes how Redis answers on a connection that all tasks share; "
                               "subscribe() has one of its own");
    }
}

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
