// SPDX-License-Identifier: MIT
// The first bytes are kept until the encoding is decided: three for a byte order mark, 1,024 if a
// <meta> may have to say it. Pages in UTF-8, and those that declare nothing, reach the tokenizer as
// they are; others are converted to UTF-8 first.

#include "base/utf8.hpp"
#include "crawl/encoding/encoding_sniffer.hpp"
#include "crawl/encoding/text_decoder.hpp"
#include "crawl/encoding/text_encoding.hpp"
#include "crawl/html/tokenizer.hpp"
#include "crawl/links/link_reader.hpp"

#include <weir/crawl/page_links.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace weir::crawl {

struct link_extractor::parts {
    explicit parts(link_options given) : options(std::move(given)), reader(options) {}

    void decide(std::string_view start);
    void read(std::string_view piece);

    link_options options;
    detail::link_reader reader;
    detail::html_tokenizer tokenizer{reader};
    detail::text_decoder decoder;
    base::utf8_check check;
    std::string start;  // what arrived before the encoding was decided
    std::string decoded;
    const detail::text_encoding* from_header = nullptr;
    const detail::text_encoding* encoding = nullptr;  // null: not declared
    bool is_decided = false;
};

void link_extractor::parts::decide(std::string_view first) {
    is_decided = true;
    const detail::byte_order_mark mark = detail::find_byte_order_mark(first);
    encoding = mark.encoding != nullptr ? mark.encoding
               : from_header != nullptr ? from_header
                                        : detail::declared_encoding(first);
    if (encoding != nullptr) {
        decoder.begin(*encoding);
    }
    check.reset();
    tokenizer.begin(options.with_positions);
    reader.begin(tokenizer, encoding, mark.size);
    read(first.substr(mark.size));
}

void link_extractor::parts::read(std::string_view piece) {
    if (encoding == nullptr) {
        check.feed(std::as_bytes(std::span(piece)));
    }
    if (encoding == nullptr || encoding->how == detail::decoding::utf_8) {
        tokenizer.feed(piece);
        return;
    }
    decoded.clear();
    decoder.decode(piece, decoded);
    tokenizer.feed(decoded);
}

link_extractor::link_extractor(link_options options)
    : parts_(std::make_unique<parts>(std::move(options))) {
    begin({});
}
link_extractor::link_extractor(link_extractor&&) noexcept = default;
link_extractor& link_extractor::operator=(link_extractor&&) noexcept = default;
link_extractor::~link_extractor() = default;

void link_extractor::begin(std::string_view content_type) {
    parts_->start.clear();
    parts_->is_decided = false;
    parts_->from_header = detail::charset_of(content_type);
}

void link_extractor::feed(std::string_view piece) {
    parts& all = *parts_;
    if (all.is_decided) {
        all.read(piece);
        return;
    }
    const std::size_t needed = all.from_header != nullptr ? 3 : detail::prescan_size;
    if (all.start.empty() && piece.size() >= needed) {
        all.decide(piece);
        return;
    }
    all.start += piece;
    if (all.start.size() >= needed) {
        all.decide(all.start);
    }
}

page_links link_extractor::finish() {
    parts& all = *parts_;
    if (!all.is_decided) {
        all.decide(all.start);
    }
    if (all.encoding != nullptr) {
        all.decoded.clear();
        all.decoder.finish(all.decoded);
        all.tokenizer.feed(all.decoded);
    }
    all.tokenizer.finish();
    page_links page = all.reader.take();
    page.charset = all.encoding != nullptr   ? all.encoding->name
                   : all.check.is_complete() ? detail::utf_8_encoding().name
                                             : detail::windows_1252_encoding().name;
    begin({});
    return page;
}

}  // namespace weir::crawl
