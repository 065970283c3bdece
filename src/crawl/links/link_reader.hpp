// SPDX-License-Identifier: MIT
// Makes page_links of the tokens of a page.
#pragma once

#include "crawl/encoding/text_encoding.hpp"
#include "crawl/html/html_content.hpp"
#include "crawl/html/html_sink.hpp"
#include "crawl/html/html_tag.hpp"
#include "crawl/html/tokenizer.hpp"

#include <weir/crawl/page_links.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

class link_reader final : public html_sink {
public:
    // More ids than this are not kept.
    static constexpr std::size_t max_fragments = 100'000;
    static constexpr std::size_t max_title = 1024;

    explicit link_reader(const link_options& options) : options_(&options) {}

    // The encoding of the page; null: none is declared, and each value shows its own. `skipped`:
    // the bytes before those that the tokenizer gets.
    void begin(html_tokenizer& tokenizer, const text_encoding* encoding, std::size_t skipped);
    page_links take();

    bool wants_attributes(std::string_view name) override;
    void on_start_tag(const html_tag& tag) override;
    void on_end_tag(const html_tag& tag) override;
    void on_text(std::string_view piece, bool is_raw) override;

private:
    void read_element(html_name name, const html_tag& tag);
    void read_foreign(html_name name, const html_tag& tag);
    void read_meta(const html_tag& tag);
    void read_link_element(const html_tag& tag);
    void read_base(const html_tag& tag);
    void read_fragments(html_name name, const html_tag& tag);

    void add(link_kind kind, const html_tag& tag, std::string_view attribute);
    void add_value(link_kind kind, const html_attribute& value, std::string_view rel);
    void add_candidates(const html_tag& tag, std::string_view attribute);
    void add_link(link_kind kind, const html_attribute& at, std::string reference,
                  const text_encoding& encoding, std::string_view rel);
    bool is_wanted(link_kind kind) const noexcept;
    // The bytes as valid UTF-8, and the encoding they were in.
    std::string utf_8_of(std::string_view raw, const text_encoding*& encoding) const;
    // The same for a value, with its character references decoded.
    std::string text_of(std::string_view raw, const text_encoding*& encoding) const;
    std::string text_of(std::string_view raw) const;
    std::string value_of(const html_tag& tag, std::string_view attribute) const;

    const link_options* options_;
    html_tokenizer* tokenizer_ = nullptr;
    const text_encoding* encoding_ = nullptr;
    html_content content_;
    const html_element* element_ = nullptr;  // of the current start tag
    page_links page_;
    std::string raw_title_;
    std::size_t skipped_ = 0;
    bool is_as_sent_ = false;  // the tokenizer gets the bytes of the body
    bool has_base_ = false;
    bool is_title_ = false;
    bool has_title_ = false;
};

}  // namespace weir::crawl::detail
