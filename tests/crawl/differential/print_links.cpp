// SPDX-License-Identifier: MIT
// Prints the links of pages as compare.mjs wants them. Reads pages from standard input, each after
// a line with its size in bytes, and prints a line of JSON for each: its base, title and links.

#include "base/json_text.hpp"

#include <weir/crawl/page_links.hpp>

#include <algorithm>
#include <iostream>
#include <string>

namespace {

void append_page(std::string& to, const weir::crawl::page_links& page) {
    to += "{\"base\":";
    weir::base::append_json_string(to, page.base);
    to += ",\"title\":";
    weir::base::append_json_string(to, page.title);
    to += ",\"links\":[";
    for (std::size_t i = 0; i < page.links.size(); ++i) {
        to += i == 0 ? "[" : ",[";
        weir::base::append_json_string(to, weir::crawl::name_of(page.links[i].kind));
        to += ',';
        weir::base::append_json_string(to, page.links[i].reference);
        to += ']';
    }
    to += "]}\n";
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    weir::crawl::link_options options;
    options.with_parts = true;
    weir::crawl::link_extractor extractor(options);
    std::string size;
    while (std::getline(std::cin, size)) {
        std::string page(std::stoul(size), '\0');
        std::cin.read(page.data(), static_cast<std::streamsize>(page.size()));
        extractor.begin("text/html; charset=utf-8");
        const std::size_t half = page.size() / 2;
        extractor.feed(std::string_view(page).substr(0, half));
        extractor.feed(std::string_view(page).substr(half));
        std::string line;
        append_page(line, extractor.finish());
        std::cout << line;
    }
}
