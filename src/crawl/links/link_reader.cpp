// SPDX-License-Identifier: MIT
// Most tags are none of the elements that matter, which one look into the table of names shows.
// Values are decoded only where they become part of the result.

#include "crawl/links/link_reader.hpp"

#include "base/utf8.hpp"
#include "crawl/encoding/text_decoder.hpp"
#include "crawl/encoding/windows_1252.hpp"
#include "crawl/html/character_references.hpp"
#include "crawl/html/html_letters.hpp"
#include "crawl/links/link_relation.hpp"
#include "crawl/links/refresh.hpp"
#include "crawl/links/srcset.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::crawl::detail {
namespace {

bool has_only_ascii(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(),
                       [](char each) { return static_cast<unsigned char>(each) < 0x80; });
}

// How many of the first bytes of a longer text are whole characters of UTF-8.
std::size_t whole_characters(std::string_view text, std::size_t most) noexcept {
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) {
        --most;
    }
    return most;
}

// Blanks at the ends removed, those inside collapsed, cut between characters.
std::string displayed_title(std::string_view text, std::size_t longest) {
    std::string shown;
    any_word(text, [&](std::string_view word) {
        shown += shown.empty() ? "" : " ";
        shown += word;
        return shown.size() > longest;
    });
    if (shown.size() > longest) {
        shown.resize(whole_characters(shown, longest));
    }
    return shown;
}

}  // namespace

void link_reader::begin(html_tokenizer& tokenizer, const text_encoding* encoding,
                        std::size_t skipped) {
    tokenizer_ = &tokenizer;
    encoding_ = encoding;
    is_as_sent_ = encoding == nullptr || encoding->how == decoding::utf_8;
    skipped_ = skipped;
    content_.begin();
    page_ = {};
    page_.links.reserve(64);
    raw_title_.clear();
    has_base_ = is_title_ = has_title_ = false;
    tokenizer.want_text(false);
}

page_links link_reader::take() {
    const text_encoding* encoding = nullptr;
    page_.title = displayed_title(
        decode_references(utf_8_of(raw_title_, encoding), reference_context::text), max_title);
    return std::exchange(page_, {});
}

bool link_reader::wants_attributes(std::string_view name) {
    element_ = &html_element_of(name);
    return options_->with_fragments || element_->name > html_name::plain;
}

void link_reader::on_start_tag(const html_tag& tag) {
    const html_element& element = *element_;
    const text_mode mode = content_.start(element, tag);
    tokenizer_->allow_cdata(content_.is_foreign());
    if (mode != text_mode::data) {
        tokenizer_->read_text(mode);
    }
    if (content_.is_in_template()) {
        return;
    }
    if (options_->with_fragments) {
        read_fragments(element.name, tag);
    }
    if (element.name <= html_name::plain) {
        return;
    }
    if (content_.is_html_element()) {
        read_element(element.name, tag);
    } else {
        read_foreign(element.name, tag);
    }
}

void link_reader::on_end_tag(const html_tag& tag) {
    if (is_title_) {
        is_title_ = false;
        tokenizer_->want_text(false);
    }
    if (!content_.is_plain()) {
        content_.end(html_element_of(tag.name()));
        tokenizer_->allow_cdata(content_.is_foreign());
    }
}

void link_reader::on_text(std::string_view piece, bool) {
    if (is_title_) {
        // References are longer than what they stand for, hardly ever more than eight times.
        const std::size_t room = 8 * max_title - std::min(8 * max_title, raw_title_.size());
        raw_title_ += piece.substr(0, piece.size() <= room ? room : whole_characters(piece, room));
    }
}

void link_reader::read_element(html_name name, const html_tag& tag) {
    switch (name) {
        case html_name::a:
            add(link_kind::anchor, tag, "href");
            break;
        case html_name::area:
            add(link_kind::area, tag, "href");
            break;
        case html_name::base:
            read_base(tag);
            break;
        case html_name::frame:
        case html_name::iframe:
            add(link_kind::frame, tag, "src");
            break;
        case html_name::link:
            read_link_element(tag);
            break;
        case html_name::meta:
            read_meta(tag);
            break;
        case html_name::title:
            is_title_ = !std::exchange(has_title_, true);
            tokenizer_->want_text(is_title_);
            break;
        case html_name::script:
            add(link_kind::script, tag, "src");
            break;
        case html_name::img:
        case html_name::image:
            add(link_kind::image, tag, "src");
            add_candidates(tag, "srcset");
            break;
        case html_name::source:
            add(link_kind::media, tag, "src");
            add_candidates(tag, "srcset");
            break;
        case html_name::video:
            add(link_kind::image, tag, "poster");
            add(link_kind::media, tag, "src");
            break;
        case html_name::audio:
        case html_name::track:
            add(link_kind::media, tag, "src");
            break;
        case html_name::embed:
            add(link_kind::embedded, tag, "src");
            break;
        case html_name::object:
            add(link_kind::embedded, tag, "data");
            break;
        case html_name::input:
            if (is_word(without_blanks(value_of(tag, "type")), "image")) {
                add(link_kind::image, tag, "src");
            }
            break;
        case html_name::body:
        case html_name::table:
        case html_name::td:
        case html_name::th:
            add(link_kind::image, tag, "background");
            break;
        default:
            break;
    }
}

void link_reader::read_foreign(html_name name, const html_tag& tag) {
    const std::string_view attribute = tag.find("href") ? "href" : "xlink:href";
    if (name == html_name::a) {
        add(link_kind::anchor, tag, attribute);
    } else if (name == html_name::image) {
        add(link_kind::image, tag, attribute);
    } else if (name == html_name::script) {
        add(link_kind::script, tag, attribute);
    }
}

void link_reader::read_meta(const html_tag& tag) {
    const auto content = tag.find("content");
    if (!content) {
        return;
    }
    if (is_word(value_of(tag, "http-equiv"), "refresh")) {
        const text_encoding* encoding = encoding_;
        const std::string value = text_of(content->raw_value, encoding);
        if (const auto target = refresh_target(value)) {
            add_link(link_kind::refresh, *content, std::string(*target), *encoding, {});
        }
        return;
    }
    const std::string name = lowered(without_blanks(value_of(tag, "name")));
    if (name == "robots" || (!name.empty() && name == options_->agent)) {
        page_.robots.add(text_of(content->raw_value));
    }
}

void link_reader::read_link_element(const html_tag& tag) {
    const std::string rel = value_of(tag, "rel");
    const auto kind = kind_of_relation(rel);
    if (!kind) {
        return;
    }
    if (const auto href = tag.find("href")) {
        if (*kind == link_kind::canonical && page_.canonical.empty()) {
            page_.canonical = text_of(href->raw_value);
        }
        add_value(*kind, *href, rel);
    }
    if (*kind == link_kind::other) {
        add_candidates(tag, "imagesrcset");
    }
}

void link_reader::read_base(const html_tag& tag) {
    const auto href = tag.find("href");
    if (href && !std::exchange(has_base_, true) && !href->is_cut) {
        page_.base = text_of(href->raw_value);
        if (is_as_sent_) {
            page_.base_offset = static_cast<std::uint32_t>(skipped_ + tokenizer_->offset_of(*href));
            page_.base_size = static_cast<std::uint32_t>(href->raw_value.size());
        }
    }
}

void link_reader::read_fragments(html_name name, const html_tag& tag) {
    for (std::size_t i = 0; i < tag.size(); ++i) {
        const html_attribute each = tag[i];
        if ((each.name == "id" || (each.name == "name" && name == html_name::a)) &&
            !each.raw_value.empty() && !each.is_cut && page_.fragments.size() < max_fragments) {
            page_.fragments.push_back(text_of(each.raw_value));
        }
    }
}

void link_reader::add(link_kind kind, const html_tag& tag, std::string_view attribute) {
    if (!is_wanted(kind)) {
        return;
    }
    if (const auto value = tag.find(attribute)) {
        const auto rel = is_page_link(kind) ? tag.find("rel") : std::nullopt;
        add_value(kind, *value, rel ? text_of(rel->raw_value) : std::string());
    }
}

void link_reader::add_value(link_kind kind, const html_attribute& value, std::string_view rel) {
    if (!is_wanted(kind)) {
        return;
    }
    if (value.is_cut) {
        ++page_.cut;
        return;
    }
    const text_encoding* encoding = encoding_;
    std::string reference = text_of(value.raw_value, encoding);
    // An empty reference leads to the page itself; as a part of a page it means none.
    if (is_page_link(kind) || !without_blanks(reference).empty()) {
        add_link(kind, value, std::move(reference), *encoding, rel);
    }
}

void link_reader::add_candidates(const html_tag& tag, std::string_view attribute) {
    if (!is_wanted(link_kind::candidate)) {
        return;
    }
    const auto value = tag.find(attribute);
    if (!value) {
        return;
    }
    if (value->is_cut) {
        ++page_.cut;
        return;
    }
    const text_encoding* encoding = encoding_;
    const std::string text = text_of(value->raw_value, encoding);
    for (const std::string_view url : srcset_urls(text)) {
        add_link(link_kind::candidate, *value, std::string(url), *encoding, {});
    }
}

void link_reader::add_link(link_kind kind, const html_attribute& at, std::string reference,
                           const text_encoding& encoding, std::string_view rel) {
    if (page_.links.size() >= options_->max_links) {
        ++page_.cut;
        return;
    }
    page_link& added = page_.links.emplace_back();
    added.kind = kind;
    added.reference = has_only_ascii(reference)
                          ? std::move(reference)
                          : with_encoded_query(std::move(reference), encoding);
    if (!rel.empty()) {
        added.is_nofollow = has_word(rel, "nofollow");
        any_word(rel, [&](std::string_view word) {
            added.rel += (added.rel.empty() ? "" : " ") + lowered(word);
            return false;
        });
    }
    if (options_->with_positions) {
        const text_position position = tokenizer_->position_of(at);
        added.line = position.line;
        added.column = position.column;
    }
    if (is_as_sent_) {
        added.offset = static_cast<std::uint32_t>(skipped_ + tokenizer_->offset_of(at));
        added.size = static_cast<std::uint32_t>(at.raw_value.size());
    }
}

bool link_reader::is_wanted(link_kind kind) const noexcept {
    return options_->with_parts || is_page_link(kind);
}

std::string link_reader::utf_8_of(std::string_view raw, const text_encoding*& encoding) const {
    encoding = encoding_ == nullptr ? &utf_8_encoding() : encoding_;
    if (base::is_utf8(raw)) {
        return std::string(raw);
    }
    if (encoding_ != nullptr) {
        return repaired_utf_8(raw);
    }
    encoding = &windows_1252_encoding();
    std::string converted;
    append_windows_1252(converted, raw);
    return converted;
}

std::string link_reader::text_of(std::string_view raw, const text_encoding*& encoding) const {
    if (has_only_ascii(raw)) {
        encoding = encoding_ == nullptr ? &utf_8_encoding() : encoding_;
        return decode_references(raw, reference_context::attribute);
    }
    return decode_references(utf_8_of(raw, encoding), reference_context::attribute);
}

std::string link_reader::text_of(std::string_view raw) const {
    const text_encoding* encoding = nullptr;
    return text_of(raw, encoding);
}

std::string link_reader::value_of(const html_tag& tag, std::string_view attribute) const {
    const auto found = tag.find(attribute);
    return found ? text_of(found->raw_value) : std::string();
}

}  // namespace weir::crawl::detail
