// SPDX-License-Identifier: MIT
// Each function reads from the front of the text, and takes away what it has read.

#include "http/message/parameters.hpp"

#include <weir/http/headers.hpp>

#include <algorithm>

namespace weir::http::detail {

namespace {
constexpr std::size_t most_parameters = 32;
}

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& each : lower) {
        if (each >= 'A' && each <= 'Z') {
            each = static_cast<char>(each + ('a' - 'A'));
        }
    }
    return lower;
}

bool is_quotable(std::string_view text) noexcept {
    return is_field_value(text) && text.find_first_of("\"\\") == std::string_view::npos;
}

void skip_blanks(std::string_view& text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string_view take_token(std::string_view& text) noexcept {
    std::size_t size = 0;
    while (size < text.size() && is_token(text.substr(size, 1))) {
        ++size;
    }
    const std::string_view token = text.substr(0, size);
    text.remove_prefix(size);
    return token;
}

std::optional<std::string> take_quoted(std::string_view& text) {
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return value;
        }
        if (text[i] == '\\' && ++i == text.size()) {
            break;
        }
        value += text[i];
    }
    return std::nullopt;
}

bool take_parameters(std::string_view& text, parameter_list& into, bool may_lack_value) {
    for (std::size_t count = 0;; ++count) {
        skip_blanks(text);
        if (!text.starts_with(';')) {
            return true;
        }
        text.remove_prefix(1);
        skip_blanks(text);
        std::string name = lower_case(take_token(text));
        if (name.empty()) {
            continue;  // 'a=1;;b=2', and a semicolon at the end
        }
        std::string value;
        if (text.starts_with('=')) {
            text.remove_prefix(1);
            if (text.starts_with('"')) {
                auto quoted = take_quoted(text);
                if (!quoted) {
                    return false;
                }
                value = std::move(*quoted);
            } else {
                value = take_token(text);
                if (value.empty() && !may_lack_value) {
                    return false;
                }
            }
        } else if (!may_lack_value) {
            return false;
        }
        if (count >= most_parameters) {
            return false;
        }
        const bool is_known = std::any_of(into.begin(), into.end(),
                                          [&](const auto& each) { return each.first == name; });
        if (!is_known) {
            into.emplace_back(std::move(name), std::move(value));
        }
    }
}

}  // namespace weir::http::detail
