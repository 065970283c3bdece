// SPDX-License-Identifier: MIT
// 'Shared declarative refresh steps' of the HTML standard.

#include "crawl/links/refresh.hpp"

#include "base/ascii.hpp"
#include "crawl/html/html_letters.hpp"

#include <cstddef>

namespace weir::crawl::detail {
namespace {

void skip_refresh_blanks(std::string_view& text) noexcept {
    while (!text.empty() && is_html_blank(text.front())) {
        text.remove_prefix(1);
    }
}

// Removes 'url =', if that is what the text begins with.
void skip_url_word(std::string_view& text) noexcept {
    if (text.size() < 3 || !is_word(text.substr(0, 3), "url")) {
        return;
    }
    std::string_view rest = text.substr(3);
    skip_refresh_blanks(rest);
    if (!rest.empty() && rest.front() == '=') {
        rest.remove_prefix(1);
        skip_refresh_blanks(rest);
        text = rest;
    }
}

}  // namespace

std::optional<std::string_view> refresh_target(std::string_view value) {
    skip_refresh_blanks(value);
    if (value.empty() || (!base::is_decimal(value.front()) && value.front() != '.')) {
        return std::nullopt;
    }
    while (!value.empty() && (base::is_decimal(value.front()) || value.front() == '.')) {
        value.remove_prefix(1);
    }
    if (value.empty() ||
        (value.front() != ';' && value.front() != ',' && !is_html_blank(value.front()))) {
        return std::nullopt;
    }
    skip_refresh_blanks(value);
    if (!value.empty() && (value.front() == ';' || value.front() == ',')) {
        value.remove_prefix(1);
    }
    skip_refresh_blanks(value);
    skip_url_word(value);
    if (!value.empty() && (value.front() == '"' || value.front() == '\'')) {
        const char quote = value.front();
        value.remove_prefix(1);
        value = value.substr(0, value.find(quote));
    }
    value = without_blanks(value);
    return value.empty() ? std::nullopt : std::optional(value);
}

}  // namespace weir::crawl::detail
