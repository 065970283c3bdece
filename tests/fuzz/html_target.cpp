// SPDX-License-Identifier: MIT
// Pages of HTML: links and tokens do not depend on the pieces, positions are in the page, and the
// limits hold.

#include "crawl/html/tokenizer.hpp"
#include "fuzz.hpp"

#include <weir/crawl/page_links.hpp>

#include <algorithm>
#include <string>

namespace {

using fuzz::require;
using namespace weir::crawl;

std::string described(const page_links& page) {
    std::string text = page.title + "|" + page.base + "|" + page.canonical + "|" + page.charset;
    for (const page_link& each : page.links) {
        text += "\n" + std::string(name_of(each.kind)) + " " + each.reference + " " + each.rel +
                " " + std::to_string(each.line) + ":" + std::to_string(each.column) + " " +
                std::to_string(each.offset) + "+" + std::to_string(each.size);
    }
    for (const std::string& each : page.fragments) {
        text += "\n#" + each;
    }
    return text;
}

page_links read_page(std::string_view html, std::string_view type, fuzz::dice* pieces) {
    link_options options;
    options.with_parts = options.with_positions = options.with_fragments = true;
    link_extractor extractor(options);
    extractor.begin(type);
    while (!html.empty()) {
        const std::size_t size =
            pieces == nullptr ? html.size() : std::min(html.size(), 1 + pieces->up_to(40));
        // In memory of its own, so that the sanitizer sees a byte too far.
        const std::string piece(html.substr(0, size));
        extractor.feed(piece);
        html.remove_prefix(size);
    }
    return extractor.finish();
}

class counting_sink final : public detail::html_sink {
public:
    void on_start_tag(const detail::html_tag& tag) override { count(tag); }
    void on_end_tag(const detail::html_tag& tag) override { count(tag); }
    void on_text(std::string_view piece, bool) override { bytes += piece.size(); }
    void on_comment(std::string_view piece) override { bytes += piece.size(); }
    std::size_t bytes = 0;

private:
    void count(const detail::html_tag& tag) {
        require(!tag.name().empty(), "tags have names");
        require(tag.size() <= detail::html_tag::max_attributes, "the limit of attributes");
        for (std::size_t i = 0; i < tag.size(); ++i) {
            require(tag[i].raw_value.size() <= detail::html_tag::max_value, "the limit of values");
            bytes += tag[i].raw_value.size();
        }
    }
};

}  // namespace

WEIR_FUZZ_TARGET(html) {
    // The first byte chooses the header.
    constexpr std::string_view types[] = {
        "", "text/html; charset=utf-8", "text/html; charset=latin1", "text/html; charset=shift_jis",
        "text/html; charset=utf-16"};
    const std::size_t chosen = input.empty() ? 0 : static_cast<unsigned char>(input[0]) % 16;
    const std::string_view type = chosen < std::size(types) ? types[chosen] : "";
    input.remove_prefix(input.empty() ? 0 : 1);

    const page_links whole = read_page(input, type, nullptr);
    fuzz::dice pieces(input);
    require(described(read_page(input, type, &pieces)) == described(whole), "pieces do not matter");
    for (const page_link& each : whole.links) {
        require(each.line >= 1 && each.column >= 1, "a position");
        require(each.offset + each.size <= input.size(), "a place in the page");
        require(each.reference.size() <= 8 * detail::html_tag::max_value,
                "the limit of references");
    }
    require(whole.title.size() <= 1024, "the limit of titles");

    counting_sink sink;
    detail::html_tokenizer tokenizer(sink);
    tokenizer.begin(false);
    tokenizer.feed(input);
    tokenizer.finish();
    require(sink.bytes <= input.size() + 2, "no byte is there twice");
}
