// SPDX-License-Identifier: MIT
// 'Parse a srcset attribute' of the HTML standard, up to the descriptors: these are skipped, with
// commas inside of parentheses, and not judged.

#include "crawl/links/srcset.hpp"

#include "crawl/html/html_letters.hpp"

#include <cstddef>

namespace weir::crawl::detail {
namespace {

void skip_descriptors(std::string_view& rest) noexcept {
    bool is_in_parentheses = false;
    while (!rest.empty()) {
        const char letter = rest.front();
        rest.remove_prefix(1);
        if (letter == ',' && !is_in_parentheses) {
            return;
        }
        is_in_parentheses = letter == '(' || (is_in_parentheses && letter != ')');
    }
}

}  // namespace

std::vector<std::string_view> srcset_urls(std::string_view value) {
    std::vector<std::string_view> urls;
    std::string_view rest = value;
    for (;;) {
        while (!rest.empty() && (is_html_blank(rest.front()) || rest.front() == ',')) {
            rest.remove_prefix(1);
        }
        if (rest.empty()) {
            return urls;
        }
        std::size_t end = 0;
        while (end < rest.size() && !is_html_blank(rest[end])) {
            ++end;
        }
        std::string_view url = rest.substr(0, end);
        rest.remove_prefix(end);
        if (url.back() == ',') {
            while (!url.empty() && url.back() == ',') {
                url.remove_suffix(1);
            }
        } else {
            skip_descriptors(rest);
        }
        if (!url.empty()) {
            urls.push_back(url);
        }
    }
}

}  // namespace weir::crawl::detail
