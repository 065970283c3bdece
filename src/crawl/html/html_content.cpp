// SPDX-License-Identifier: MIT
// A stack of the few elements that change how others are read. The tree builder of the standard
// also closes elements because of the tags around them, which takes a tree to know: an SVG image
// that is not closed ends here with the first tag that cannot be in one, or with its parent's
// <template>, and otherwise with the page.

#include "crawl/html/html_content.hpp"

#include "crawl/html/html_letters.hpp"

namespace weir::crawl::detail {
namespace {

// <font> leaves SVG and MathML only if it has one of HTML's attributes.
bool is_html_font(const html_tag& tag) noexcept {
    return tag.find("color") || tag.find("face") || tag.find("size");
}

bool holds_html(const html_tag& annotation) noexcept {
    const auto encoding = annotation.find("encoding");
    return encoding && (is_word(encoding->raw_value, "text/html") ||
                        is_word(encoding->raw_value, "application/xhtml+xml"));
}

text_mode text_of_element(html_name name) noexcept {
    switch (name) {
        case html_name::title:
        case html_name::textarea:
            return text_mode::rcdata;
        case html_name::style:
        case html_name::xmp:
        case html_name::iframe:
        case html_name::noembed:
        case html_name::noframes:
            return text_mode::rawtext;
        case html_name::script:
            return text_mode::script;
        case html_name::plaintext:
            return text_mode::plaintext;
        default:
            return text_mode::data;
    }
}

}  // namespace

void html_content::begin() noexcept {
    frames_.clear();
    templates_ = 0;
}

text_mode html_content::start(const html_element& element, const html_tag& tag) {
    if (is_foreign()) {
        if (!element.leaves_foreign && !(element.name == html_name::font && is_html_font(tag))) {
            is_html_element_ = false;
            start_foreign(element, tag);
            return text_mode::data;
        }
        leave_foreign();
    }
    is_html_element_ = true;
    if (element.name == html_name::template_element) {
        push(kind::template_element, element.name);
    } else if (element.name == html_name::svg || element.name == html_name::math) {
        if (!tag.is_self_closing()) {
            push(element.name == html_name::svg ? kind::svg : kind::math, element.name);
        }
    }
    return text_of_element(element.name);
}

void html_content::start_foreign(const html_element& element, const html_tag& tag) {
    if (tag.is_self_closing()) {
        return;
    }
    const bool is_svg = frames_.back().what == kind::svg;
    switch (element.name) {
        case html_name::svg:
            push(kind::svg, element.name);
            break;
        case html_name::foreign_object:
        case html_name::desc:
        case html_name::title:
            if (is_svg) {
                push(kind::html_in_foreign, element.name);
            }
            break;
        case html_name::mi:
        case html_name::mn:
        case html_name::mo:
        case html_name::ms:
        case html_name::mtext:
            if (!is_svg) {
                push(kind::html_in_foreign, element.name);
            }
            break;
        case html_name::annotation_xml:
            if (!is_svg && holds_html(tag)) {
                push(kind::html_in_foreign, element.name);
            }
            break;
        default:
            break;
    }
}

void html_content::end(const html_element& element) {
    const html_name name = element.name;
    if (frames_.empty() || name == html_name::unknown) {
        return;
    }
    // A start tag of that name would have ended SVG and MathML, so this one ends an element around
    // them.
    if (is_foreign() && element.leaves_foreign) {
        leave_foreign();
        return;
    }
    if (name == html_name::plain) {
        return;
    }
    // The innermost element of that name ends, and all in it. A template's content ends only with
    // the template.
    for (std::size_t index = frames_.size(); index-- > 0;) {
        if (frames_[index].name == name) {
            pop_to(index);
            return;
        }
        if (frames_[index].what == kind::template_element && name != html_name::template_element) {
            return;
        }
    }
}

void html_content::push(kind what, html_name name) {
    if (frames_.size() < max_depth) {
        frames_.push_back({what, name});
        templates_ += what == kind::template_element ? 1 : 0;
    }
}

void html_content::pop() noexcept {
    templates_ -= frames_.back().what == kind::template_element ? 1 : 0;
    frames_.pop_back();
}

void html_content::pop_to(std::size_t index) noexcept {
    while (frames_.size() > index) {
        pop();
    }
}

void html_content::leave_foreign() noexcept {
    while (is_foreign()) {
        pop();
    }
}

}  // namespace weir::crawl::detail
