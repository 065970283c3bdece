// SPDX-License-Identifier: MIT
// Words are separated by blanks; the first is the token.

#include "service/api/token_line.hpp"

#include "base/quoted.hpp"

#include <weir/error.hpp>

#include <algorithm>

namespace weir::service::detail {

namespace {

constexpr std::size_t min_token_size = 16;
constexpr std::size_t max_name_size = 60;
constexpr std::string_view name_prefix = "name=";

std::string_view take_word(std::string_view& from) {
    from.remove_prefix(std::min(from.size(), from.find_first_not_of(" \t")));
    const std::string_view word = from.substr(0, from.find_first_of(" \t"));
    from.remove_prefix(word.size());
    return word;
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= max_name_size &&
           std::all_of(text.begin(), text.end(), [](char letter) {
               return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                      (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' ||
                      letter == '.';
           });
}

}  // namespace

token_line token_line::parse(std::string_view line, std::size_t number) {
    token_line parsed;
    parsed.name = "token-" + std::to_string(number);
    const std::string about = "access: token " + std::to_string(number) + ": ";
    parsed.secret = take_word(line);
    if (parsed.secret.size() < min_token_size) {
        throw invalid_argument(about + "it is shorter than " + std::to_string(min_token_size) +
                               " characters, and could be guessed");
    }
    bool has_name = false;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
        if (word.starts_with(name_prefix)) {
            const std::string_view name = word.substr(name_prefix.size());
            if (has_name || !is_name(name)) {
                throw invalid_argument(about + "there may be one name=NAME of up to 60 letters, " +
                                       "digits and -_. ; not " + base::quoted(word, 80));
            }
            parsed.name = name;
            has_name = true;
        } else if (parsed.scopes.empty()) {
            parsed.scopes = word;
        } else {
            throw invalid_argument(about + "scopes are one word, with commas: '" + parsed.scopes +
                                   "," + std::string(word.substr(0, 60)) + "'");
        }
    }
    try {
        parsed.rights = access_rights::parse(parsed.scopes);
    } catch (const invalid_argument& error) {
        throw invalid_argument(about + error.what());
    }
    return parsed;
}

}  // namespace weir::service::detail
