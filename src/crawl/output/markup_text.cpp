// SPDX-License-Identifier: MIT

#include "crawl/output/markup_text.hpp"

namespace weir::crawl::detail {

void append_csv_text(std::string& to, std::string_view text) {
    const bool is_formula =
        !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
    if (!is_formula && text.find_first_of(",\"\r\n") == std::string_view::npos) {
        to += text;
        return;
    }
    to += is_formula ? "\"'" : "\"";
    for (const char each : text) {
        to += each;
        if (each == '"') {
            to += each;
        }
    }
    to += '"';
}

void append_markup_text(std::string& to, std::string_view text) {
    for (const char each : text) {
        switch (each) {
            case '&':
                to += "&amp;";
                break;
            case '<':
                to += "&lt;";
                break;
            case '>':
                to += "&gt;";
                break;
            case '"':
                to += "&quot;";
                break;
            case '\'':
                to += "&#39;";
                break;
            default:
                to += each;
                break;
        }
    }
}

}  // namespace weir::crawl::detail
