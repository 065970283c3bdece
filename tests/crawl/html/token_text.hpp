// SPDX-License-Identifier: MIT
// The tokens of a page as text that tests can compare:
//
//     <a href='/x'>|click|</a>|<!--note-->|<!doctype>
#pragma once

#include "crawl/html/character_references.hpp"
#include "crawl/html/tokenizer.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace token_text {

using namespace weir::crawl::detail;

class writer final : public html_sink {
public:
    explicit writer(html_tokenizer*& tokenizer) : tokenizer_(&tokenizer) {}

    void on_start_tag(const html_tag& tag) override {
        add("<" + std::string(tag.name()));
        std::set<std::string_view> names;
        for (std::size_t i = 0; i < tag.size(); ++i) {
            if (names.insert(tag[i].name).second) {
                text_ += " " + std::string(tag[i].name) + "='" +
                         decode_references(tag[i].raw_value, reference_context::attribute) + "'";
            }
        }
        text_ += tag.is_self_closing() ? "/>" : ">";
        const std::string_view name = tag.name();
        if (name == "title" || name == "textarea") {
            (*tokenizer_)->read_text(text_mode::rcdata);
        } else if (name == "style" || name == "iframe") {
            (*tokenizer_)->read_text(text_mode::rawtext);
        } else if (name == "script") {
            (*tokenizer_)->read_text(text_mode::script);
        } else if (name == "plaintext") {
            (*tokenizer_)->read_text(text_mode::plaintext);
        }
        (*tokenizer_)->allow_cdata(name == "svg");
    }
    void on_end_tag(const html_tag& tag) override {
        add("</" + std::string(tag.name()) + ">");
        (*tokenizer_)->allow_cdata(false);
    }
    void on_text(std::string_view piece, bool is_raw) override {
        if (!has_text_ || is_raw != is_raw_) {
            flush();
            has_text_ = true;
            is_raw_ = is_raw;
        }
        pending_ += piece;
    }
    void on_comment(std::string_view piece) override { comment_ += piece; }
    void on_comment_end() override {
        add("<!--" + comment_ + "-->");
        comment_.clear();
    }
    void on_doctype() override { add("<!doctype>"); }

    std::string take() {
        flush();
        return std::move(text_);
    }

private:
    void flush() {
        if (has_text_) {
            has_text_ = false;
            add(is_raw_ ? pending_ : decode_references(pending_, reference_context::text));
            pending_.clear();
        }
    }
    void add(const std::string& token) {
        flush();
        text_ += (text_.empty() ? "" : "|") + token;
    }

    html_tokenizer** tokenizer_;
    std::string text_;
    std::string pending_;
    std::string comment_;
    bool has_text_ = false;
    bool is_raw_ = false;
};

// In pieces of that size.
inline std::string tokens(std::string_view page, std::size_t piece_size) {
    html_tokenizer* known = nullptr;
    writer sink(known);
    html_tokenizer tokenizer(sink);
    known = &tokenizer;
    tokenizer.begin(true);
    for (std::size_t at = 0; at < page.size(); at += piece_size) {
        tokenizer.feed(page.substr(at, piece_size));
    }
    tokenizer.finish();
    return sink.take();
}

}  // namespace token_text
