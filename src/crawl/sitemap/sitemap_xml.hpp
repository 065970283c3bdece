// SPDX-License-Identifier: MIT
// Finds the entries of a sitemap or a feed in the tags of its XML.
#pragma once

#include "crawl/html/html_sink.hpp"
#include "crawl/html/html_tag.hpp"
#include "crawl/html/tokenizer.hpp"

#include <weir/crawl/sitemap.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::crawl::detail {

class sitemap_xml final : public html_sink {
public:
    sitemap_xml(sitemap& to, const sitemap_limits& limits) noexcept : to_(&to), limits_(&limits) {}

    void begin();
    void feed(std::string_view piece) { tokenizer_.feed(piece); }
    void finish();

    void on_start_tag(const html_tag& tag) override;
    void on_end_tag(const html_tag& tag) override;
    void on_text(std::string_view piece, bool is_raw) override;

private:
    enum class field : std::uint8_t { none, location, modified };
    void read_root(std::string_view name);
    // Without the prefix that the root element has; with any other one it stays.
    std::string_view local_name(std::string_view name) const noexcept;
    field field_named(std::string_view name) const noexcept;
    void read_atom_link(const html_tag& tag);
    void end_field();
    void end_entry();

    sitemap* to_;
    const sitemap_limits* limits_;
    html_tokenizer tokenizer_{*this};
    sitemap_entry entry_;
    std::string prefix_;  // of the root element, with its colon
    std::string text_;
    std::string raw_;  // text whose references are not decoded yet
    field field_ = field::none;
    bool has_root_ = false;
    bool is_in_entry_ = false;
    bool is_too_long_ = false;
};

}  // namespace weir::crawl::detail
