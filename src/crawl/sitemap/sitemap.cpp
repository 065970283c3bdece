// SPDX-License-Identifier: MIT
// Bytes pass three stages: gzip, if its magic is at the start; the encoding, which a byte order
// mark or an XML declaration names; and the XML or the lines. Each stage works on what has arrived,
// and none keeps more than one entry.

#include "crawl/encoding/encoding_sniffer.hpp"
#include "crawl/encoding/text_decoder.hpp"
#include "crawl/encoding/text_encoding.hpp"
#include "crawl/html/html_letters.hpp"
#include "crawl/sitemap/gunzip.hpp"
#include "crawl/sitemap/sitemap_xml.hpp"

#include <weir/crawl/sitemap.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::crawl {

std::string_view name_of(sitemap_kind kind) noexcept {
    constexpr std::string_view names[] = {"unknown", "urlset", "index", "text", "feed"};
    return names[static_cast<std::size_t>(kind)];
}

struct sitemap_reader::parts {
    explicit parts(sitemap_limits given) noexcept : limits(given) {}

    void take(std::string_view piece);
    void pass(std::string_view piece);
    void decompress(std::string_view piece);
    void count(std::string_view piece);
    void decode(std::string_view piece);
    void decide(std::string_view given);
    void read(std::string_view text);
    void read_lines(std::string_view text);
    void end_line();
    void cut(std::string why);
    // Nothing that follows can change the result.
    bool is_over() const noexcept { return result.is_cut || !result.problem.empty(); }

    sitemap_limits limits;
    sitemap result;
    detail::sitemap_xml xml{result, limits};
    std::optional<detail::gunzip> compressed;
    detail::text_decoder decoder;
    std::string first;  // while it is shorter than the magic of gzip
    std::string start;  // what arrived before the encoding was decided
    std::string line;
    std::uint64_t bytes = 0;
    bool knows_compression = false;
    bool knows_encoding = false;
    bool is_line_too_long = false;
};

void sitemap_reader::parts::take(std::string_view piece) {
    if (knows_compression) {
        pass(piece);
        return;
    }
    first += piece;
    if (first.size() >= detail::gunzip::magic.size()) {
        knows_compression = true;
        if (first.starts_with(detail::gunzip::magic)) {
            compressed.emplace();
        }
        pass(std::exchange(first, {}));
    }
}

void sitemap_reader::parts::pass(std::string_view piece) {
    if (compressed) {
        decompress(piece);
    } else {
        count(piece);
    }
}

void sitemap_reader::parts::decompress(std::string_view piece) {
    constexpr std::size_t step_size = 65'536;
    std::string output;
    for (;;) {
        output.clear();
        const auto step = compressed->run(piece, output, step_size);
        count(output);
        if (is_over() || step == detail::gunzip::step::needs_input) {
            return;
        }
        if (step == detail::gunzip::step::failed) {
            result.problem = "the gzip data is invalid";
            return;
        }
    }
}

void sitemap_reader::parts::count(std::string_view piece) {
    const std::uint64_t room = limits.max_bytes - bytes;
    if (piece.size() > room) {
        decode(piece.substr(0, static_cast<std::size_t>(room)));
        if (!is_over()) {
            cut("more than " + std::to_string(limits.max_bytes) + " bytes");
        }
        return;
    }
    bytes += piece.size();
    decode(piece);
}

void sitemap_reader::parts::decode(std::string_view piece) {
    if (!knows_encoding) {
        start += piece;
        if (start.size() >= detail::prescan_size) {
            decide(std::exchange(start, {}));
        }
        return;
    }
    std::string text;
    decoder.decode(piece, text);
    read(text);
}

void sitemap_reader::parts::decide(std::string_view given) {
    knows_encoding = true;
    const detail::byte_order_mark mark = detail::find_byte_order_mark(given);
    const detail::text_encoding* declared =
        mark.encoding != nullptr ? mark.encoding : detail::declared_encoding(given);
    decoder.begin(declared == nullptr ? detail::utf_8_encoding() : *declared);
    std::string text;
    decoder.decode(given.substr(mark.size), text);
    const std::string_view visible = detail::without_blanks(text);
    if (visible.starts_with('<')) {
        xml.begin();
    } else {
        result.kind = sitemap_kind::text;
    }
    read(text);
}

void sitemap_reader::parts::read(std::string_view text) {
    if (is_over()) {
        return;
    }
    if (result.kind == sitemap_kind::text) {
        read_lines(text);
    } else {
        xml.feed(text);
    }
}

void sitemap_reader::parts::read_lines(std::string_view text) {
    while (!text.empty() && !is_over()) {
        const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
        if (line.size() + end > limits.max_location) {
            is_line_too_long = true;
        } else {
            line += text.substr(0, end);
        }
        if (end == text.size()) {
            return;
        }
        end_line();
        text.remove_prefix(end + 1);
    }
}

void sitemap_reader::parts::end_line() {
    const std::string_view url = detail::without_blanks(line);
    const bool is_url = detail::is_word(url.substr(0, 7), "http://") ||
                        detail::is_word(url.substr(0, 8), "https://");
    if (is_url && !is_line_too_long) {
        if (result.entries.size() >= limits.max_entries) {
            cut("more than " + std::to_string(limits.max_entries) + " entries");
        } else {
            result.entries.push_back({std::string(url), {}});
        }
    }
    line.clear();
    is_line_too_long = false;
}

void sitemap_reader::parts::cut(std::string why) {
    result.is_cut = true;
    result.problem = std::move(why);
}

sitemap_reader::sitemap_reader(sitemap_limits limits) : parts_(std::make_unique<parts>(limits)) {}
sitemap_reader::sitemap_reader(sitemap_reader&&) noexcept = default;
sitemap_reader& sitemap_reader::operator=(sitemap_reader&&) noexcept = default;
sitemap_reader::~sitemap_reader() = default;

void sitemap_reader::feed(std::string_view piece) {
    if (!piece.empty() && !parts_->is_over()) {
        parts_->take(piece);
    }
}

bool sitemap_reader::is_full() const noexcept {
    return parts_->is_over();
}

sitemap sitemap_reader::finish() {
    parts& all = *parts_;
    if (!all.knows_compression) {
        all.count(all.first);
    }
    if (!all.knows_encoding) {
        all.decide(std::exchange(all.start, {}));
    }
    if (all.compressed && !all.compressed->is_complete() && all.result.problem.empty()) {
        all.result.problem = "the gzip data is incomplete";
    }
    if (all.result.kind == sitemap_kind::text) {
        all.end_line();
        if (all.result.entries.empty() && all.result.problem.empty()) {
            all.result.kind = sitemap_kind::unknown;
            all.result.problem = "neither XML nor a list of URLs";
        }
    } else {
        all.xml.finish();
    }
    const sitemap_limits limits = all.limits;
    sitemap made = std::move(all.result);
    parts_ = std::make_unique<parts>(limits);
    return made;
}

sitemap read_sitemap(std::string_view body, sitemap_limits limits) {
    sitemap_reader reader(limits);
    reader.feed(body);
    return reader.finish();
}

}  // namespace weir::crawl
