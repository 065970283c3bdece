// SPDX-License-Identifier: MIT
// Types are compared in lower case and without parameters; bodies are judged by their first bytes.

#include "crawl/fetch/content_type.hpp"

#include <algorithm>
#include <initializer_list>

namespace weir::crawl::detail {

std::string lower_type(std::string_view content_type) {
    std::string type(content_type.substr(0, content_type.find(';')));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) {
        type.pop_back();
    }
    std::transform(type.begin(), type.end(), type.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    });
    return type;
}

bool looks_binary(std::string_view body) noexcept {
    const std::string_view head = body.substr(0, 1024);
    if (head.starts_with("\xFE\xFF") || head.starts_with("\xFF\xFE")) {
        return false;  // UTF-16
    }
    for (const std::string_view magic :
         {std::string_view("%PDF-"), std::string_view("PK\x03\x04"), std::string_view("\x89PNG"),
          std::string_view("GIF8"), std::string_view("\xFF\xD8\xFF"), std::string_view("\x1F\x8B"),
          std::string_view("Rar!"), std::string_view("7z\xBC\xAF")}) {
        if (head.starts_with(magic)) {
            return true;
        }
    }
    return head.find('\0') != std::string_view::npos;
}

bool looks_like_html(std::string_view body) noexcept {
    const std::size_t first = body.find_first_not_of(" \t\r\n\f\xEF\xBB\xBF");
    return first != std::string_view::npos && body[first] == '<' && !looks_binary(body);
}

bool is_html(std::string_view type) noexcept {
    return type == "text/html" || type == "application/xhtml+xml";
}

bool may_have_links(std::string_view content_type) noexcept {
    const std::string_view type = content_type.substr(0, content_type.find(';'));
    if (type.empty()) {
        return true;
    }
    const auto contains = [type](std::string_view part) {
        return std::search(type.begin(), type.end(), part.begin(), part.end(), [](char a, char b) {
                   return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b;
               }) != type.end();
    };
    return contains("html") || contains("xml") || contains("text/");
}

}  // namespace weir::crawl::detail
