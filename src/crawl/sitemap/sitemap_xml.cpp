// SPDX-License-Identifier: MIT
// The tokenizer of HTML reads tags, comments, CDATA sections and character references of XML as
// well; it is more lenient with what is broken. A document type ends with the first '>', and what
// it declares has no effect: entities of its own stay as they are written.

#include "crawl/sitemap/sitemap_xml.hpp"

#include "base/quoted.hpp"
#include "crawl/html/character_references.hpp"
#include "crawl/html/html_letters.hpp"

#include <utility>

namespace weir::crawl::detail {

void sitemap_xml::begin() {
    tokenizer_.begin(false);
    tokenizer_.allow_cdata(true);
}

void sitemap_xml::finish() {
    tokenizer_.finish();
    if (to_->kind == sitemap_kind::unknown && to_->problem.empty()) {
        to_->problem = "no element that begins a sitemap or a feed";
    }
}

void sitemap_xml::on_start_tag(const html_tag& tag) {
    if (!std::exchange(has_root_, true)) {
        read_root(tag.name());
        return;
    }
    const std::string_view name = local_name(tag.name());
    if (name == "url" || name == "sitemap" || name == "item" || name == "entry") {
        end_entry();
        is_in_entry_ = !tag.is_self_closing();
        return;
    }
    if (!is_in_entry_) {
        return;
    }
    field_ = tag.is_self_closing() ? field::none : field_named(name);
    text_.clear();
    raw_.clear();
    is_too_long_ = false;
    if (name == "link" && to_->kind == sitemap_kind::feed) {
        read_atom_link(tag);
    }
}

// Atom has references in attributes: <link href=... rel=alternate/>.
void sitemap_xml::read_atom_link(const html_tag& tag) {
    const auto href = tag.find("href");
    if (!href) {
        return;
    }
    field_ = field::none;
    const auto rel = tag.find("rel");
    if (entry_.location.empty() && (!rel || rel->raw_value == "alternate") &&
        href->raw_value.size() <= limits_->max_location) {
        const std::string decoded =
            decode_references(href->raw_value, reference_context::attribute);
        entry_.location = without_blanks(decoded);
    }
}

void sitemap_xml::on_end_tag(const html_tag& tag) {
    const std::string_view name = local_name(tag.name());
    if (field_ != field::none && field_named(name) == field_) {
        end_field();
    } else if (name == "url" || name == "sitemap" || name == "item" || name == "entry") {
        end_entry();
        is_in_entry_ = false;
    }
}

void sitemap_xml::on_text(std::string_view piece, bool is_raw) {
    if (field_ == field::none) {
        return;
    }
    if (text_.size() + raw_.size() + piece.size() > limits_->max_location) {
        is_too_long_ = true;
        return;
    }
    if (is_raw) {
        text_ += decode_references(std::exchange(raw_, {}), reference_context::text);
        text_ += piece;
    } else {
        raw_ += piece;
    }
}

void sitemap_xml::read_root(std::string_view name) {
    const std::size_t colon = name.find(':');
    prefix_ = colon == std::string_view::npos ? "" : name.substr(0, colon + 1);
    const std::string_view local = local_name(name);
    to_->kind = local == "urlset"                                        ? sitemap_kind::urlset
                : local == "sitemapindex"                                ? sitemap_kind::index
                : local == "rss" || local == "feed" || name == "rdf:rdf" ? sitemap_kind::feed
                                                                         : sitemap_kind::unknown;
    if (name == "rdf:rdf") {
        prefix_.clear();  // only the root has it
    }
    if (to_->kind == sitemap_kind::unknown) {
        to_->problem = "the root element " + base::quoted(name) + " begins no sitemap or feed";
    }
}

std::string_view sitemap_xml::local_name(std::string_view name) const noexcept {
    return !prefix_.empty() && name.starts_with(prefix_) ? name.substr(prefix_.size()) : name;
}

sitemap_xml::field sitemap_xml::field_named(std::string_view name) const noexcept {
    const bool is_feed = to_->kind == sitemap_kind::feed;
    if (name == (is_feed ? "link" : "loc")) {
        return field::location;
    }
    if (is_feed ? name == "pubdate" || name == "updated" || name == "dc:date" : name == "lastmod") {
        return field::modified;
    }
    return field::none;
}

void sitemap_xml::end_field() {
    text_ += decode_references(std::exchange(raw_, {}), reference_context::text);
    const std::string_view value = without_blanks(text_);
    std::string& to = field_ == field::location ? entry_.location : entry_.last_modified;
    if (to.empty() && !is_too_long_) {
        to = value;
    }
    field_ = field::none;
}

void sitemap_xml::end_entry() {
    field_ = field::none;
    sitemap_entry ended = std::exchange(entry_, {});
    if (ended.location.empty() || to_->kind == sitemap_kind::unknown || to_->is_cut) {
        return;
    }
    if (to_->entries.size() >= limits_->max_entries) {
        to_->is_cut = true;
        to_->problem = "more than " + std::to_string(limits_->max_entries) + " entries";
        return;
    }
    to_->entries.push_back(std::move(ended));
}

}  // namespace weir::crawl::detail
