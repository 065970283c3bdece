// SPDX-License-Identifier: MIT
// 'Prescan a byte stream to determine its encoding' of the HTML standard. It is not the tokenizer:
// it knows no scripts and no raw text, so that all browsers agree on what it finds.

#include "crawl/encoding/encoding_sniffer.hpp"

#include "base/ascii.hpp"
#include "crawl/html/html_letters.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace weir::crawl::detail {
namespace {

void skip_html_blanks(std::string_view& text) noexcept {
    while (!text.empty() && is_html_blank(text.front())) {
        text.remove_prefix(1);
    }
}

bool starts_with_word(std::string_view text, std::string_view lower) noexcept {
    return text.size() >= lower.size() && is_word(text.substr(0, lower.size()), lower);
}

struct prescanned_attribute {
    std::string name;
    std::string value;
};

// 'Get an attribute'. None: the tag ends here.
std::optional<prescanned_attribute> take_prescanned(std::string_view& text) {
    while (!text.empty() && (is_html_blank(text.front()) || text.front() == '/')) {
        text.remove_prefix(1);
    }
    if (text.empty() || text.front() == '>') {
        return std::nullopt;
    }
    prescanned_attribute read;
    while (!text.empty() && !is_html_blank(text.front()) && text.front() != '/' &&
           text.front() != '>' && (text.front() != '=' || read.name.empty())) {
        read.name += html_lower(text.front());
        text.remove_prefix(1);
    }
    skip_html_blanks(text);
    if (text.empty() || text.front() != '=') {
        return read;
    }
    text.remove_prefix(1);
    skip_html_blanks(text);
    if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
        const std::size_t end = std::min(text.find(text.front(), 1), text.size());
        read.value = lowered(text.substr(1, end - 1));
        text.remove_prefix(std::min(end + 1, text.size()));
        return read;
    }
    while (!text.empty() && !is_html_blank(text.front()) && text.front() != '>') {
        read.value += html_lower(text.front());
        text.remove_prefix(1);
    }
    return read;
}

const text_encoding* encoding_of_meta(std::string_view& text) {
    std::vector<std::string> seen;
    const text_encoding* found = nullptr;
    bool has_pragma = false;
    std::optional<bool> needs_pragma;
    while (const auto attribute = take_prescanned(text)) {
        if (std::find(seen.begin(), seen.end(), attribute->name) != seen.end()) {
            continue;
        }
        seen.push_back(attribute->name);
        if (attribute->name == "http-equiv") {
            has_pragma = has_pragma || attribute->value == "content-type";
        } else if (attribute->name == "content") {
            const text_encoding* named = charset_of(attribute->value);
            if (named != nullptr && found == nullptr) {
                found = named;
                needs_pragma = true;
            }
        } else if (attribute->name == "charset") {
            found = find_encoding(attribute->value);
            needs_pragma = false;
        }
    }
    return needs_pragma && (!*needs_pragma || has_pragma) ? found : nullptr;
}

// The encoding in '<?xml version="1.0" encoding="..."?>' at the start.
const text_encoding* encoding_of_xml(std::string_view text) {
    if (!text.starts_with("<?xml")) {
        return nullptr;
    }
    text = text.substr(0, text.find('>'));
    const std::size_t at = text.find("encoding");
    if (at == std::string_view::npos) {
        return nullptr;
    }
    text.remove_prefix(at + 8);
    skip_html_blanks(text);
    if (text.empty() || text.front() != '=') {
        return nullptr;
    }
    text.remove_prefix(1);
    skip_html_blanks(text);
    if (text.empty() || (text.front() != '"' && text.front() != '\'')) {
        return nullptr;
    }
    const std::size_t end = text.find(text.front(), 1);
    return end == std::string_view::npos ? nullptr : find_encoding(text.substr(1, end - 1));
}

void skip_past(std::string_view& text, std::string_view what) noexcept {
    const std::size_t at = text.find(what);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + what.size());
}

const text_encoding* encoding_of_tags(std::string_view text) {
    while (!text.empty()) {
        if (text.starts_with("<!--")) {
            text.remove_prefix(2);
            skip_past(text, "-->");
        } else if (starts_with_word(text, "<meta") && text.size() > 5 &&
                   (is_html_blank(text[5]) || text[5] == '/')) {
            text.remove_prefix(5);
            if (const text_encoding* found = encoding_of_meta(text)) {
                return found;
            }
        } else if (text.size() > 1 && text[0] == '<' &&
                   (base::is_letter(text[1]) ||
                    (text.size() > 2 && text[1] == '/' && base::is_letter(text[2])))) {
            while (!text.empty() && !is_html_blank(text.front()) && text.front() != '>') {
                text.remove_prefix(1);
            }
            while (take_prescanned(text)) {
            }
        } else if (text.size() > 1 && text[0] == '<' &&
                   (text[1] == '!' || text[1] == '/' || text[1] == '?')) {
            skip_past(text, ">");
        } else {
            text.remove_prefix(std::min(text.find('<', 1), text.size()));
        }
    }
    return nullptr;
}

}  // namespace

byte_order_mark find_byte_order_mark(std::string_view start) {
    if (start.starts_with("\xEF\xBB\xBF")) {
        return {&utf_8_encoding(), 3};
    }
    if (start.starts_with("\xFE\xFF")) {
        return {find_encoding("utf-16be"), 2};
    }
    if (start.starts_with("\xFF\xFE")) {
        return {find_encoding("utf-16le"), 2};
    }
    return {};
}

const text_encoding* charset_of(std::string_view content_type) {
    std::string_view rest = content_type;
    for (;;) {
        while (!rest.empty() && !starts_with_word(rest, "charset")) {
            rest.remove_prefix(1);
        }
        if (rest.empty()) {
            return nullptr;
        }
        rest.remove_prefix(7);
        skip_html_blanks(rest);
        if (!rest.empty() && rest.front() == '=') {
            break;
        }
    }
    rest.remove_prefix(1);
    skip_html_blanks(rest);
    if (!rest.empty() && (rest.front() == '"' || rest.front() == '\'')) {
        const std::size_t end = rest.find(rest.front(), 1);
        return end == std::string_view::npos ? nullptr : find_encoding(rest.substr(1, end - 1));
    }
    const auto end = std::find_if(rest.begin(), rest.end(),
                                  [](char each) { return is_html_blank(each) || each == ';'; });
    return find_encoding(rest.substr(0, static_cast<std::size_t>(end - rest.begin())));
}

const text_encoding* declared_encoding(std::string_view start) {
    start = start.substr(0, prescan_size);
    const text_encoding* found = encoding_of_tags(start);
    if (found == nullptr) {
        found = encoding_of_xml(start);
    }
    const bool is_utf_16 = found != nullptr && (found->how == decoding::utf_16_little ||
                                                found->how == decoding::utf_16_big);
    return is_utf_16 ? &utf_8_encoding() : found;
}

}  // namespace weir::crawl::detail
