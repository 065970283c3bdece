// SPDX-License-Identifier: MIT
// Commands in the form of the protocol: a list of words, each behind its length, so that no byte in
// a word has a meaning.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::redis::detail {

void append_count(std::string& to, char kind, std::size_t count);
void append_word(std::string& to, std::string_view word);
void append_number(std::string& to, std::int64_t number);
void append_number(std::string& to, double number);

template <class Word>
void append(std::string& to, const Word& word) {
    if constexpr (std::convertible_to<const Word&, std::string_view>) {
        append_word(to, word);
    } else if constexpr (std::integral<Word>) {
        append_number(to, static_cast<std::int64_t>(word));
    } else {
        static_assert(std::floating_point<Word>, "words of a command are texts and numbers");
        append_number(to, static_cast<double>(word));
    }
}

template <class... Words>
void append_command(std::string& to, const Words&... words) {
    static_assert(sizeof...(words) > 0, "a command has at least its name");
    append_count(to, '*', sizeof...(words));
    (append(to, words), ...);
}

}  // namespace weir::redis::detail
