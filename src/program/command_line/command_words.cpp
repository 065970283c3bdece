// SPDX-License-Identifier: MIT
// One pass; a quote may open and close within a word.

#include "program/command_line/command_words.hpp"

#include <weir/error.hpp>

namespace weir::program {

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    bool is_in_word = false;
    char quote = '\0';
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char letter = text[at];
        const bool is_blank = letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
        if (quote == '\0' && is_blank) {
            is_in_word = false;
            continue;
        }
        if (!is_in_word) {
            words.emplace_back();
            is_in_word = true;
        }
        if (letter == quote) {
            quote = '\0';
        } else if (quote == '\0' && (letter == '\'' || letter == '"')) {
            quote = letter;
        } else if (letter == '\\' && quote != '\'' && at + 1 < text.size() &&
                   (quote == '\0' || text[at + 1] == '"' || text[at + 1] == '\\')) {
            words.back() += text[++at];
        } else {
            words.back() += letter;
        }
    }
    if (quote != '\0') {
        throw invalid_argument("it has an opening " + std::string(1, quote) +
                               " without a closing one");
    }
    return words;
}

}  // namespace weir::program
