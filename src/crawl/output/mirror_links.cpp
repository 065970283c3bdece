// SPDX-License-Identifier: MIT
// The extractor says where each value stands; what is between the values is copied.

#include "crawl/output/mirror_links.hpp"

#include "crawl/html/character_references.hpp"
#include "crawl/html/html_letters.hpp"
#include "crawl/links/refresh.hpp"
#include "crawl/links/srcset.hpp"
#include "crawl/output/markup_text.hpp"

#include <weir/crawl/page_links.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace weir::crawl::detail {
namespace {

class mirror_rewriter {
public:
    mirror_rewriter(std::string_view html, const http::url& base, const mirror_lookup& lookup)
        : html_(html), base_(&base), lookup_(&lookup) {}

    // Values come in the order of the page; one with several links comes several times.
    void take(const page_link& link) {
        if (link.size == 0 || link.offset < done_) {
            return;
        }
        const std::string value =
            decode_references(html_.substr(link.offset, link.size), reference_context::attribute);
        if (link.kind == link_kind::candidate) {
            replace(link.offset, link.size, with_parts_replaced(value, srcset_urls(value)));
        } else if (link.kind == link_kind::refresh) {
            const auto target = refresh_target(value);
            replace(link.offset, link.size,
                    with_parts_replaced(
                        value, target ? std::vector{*target} : std::vector<std::string_view>()));
        } else if (auto local = local_reference(value)) {
            replace(link.offset, link.size, *local);
        }
    }

    void replace(std::size_t offset, std::size_t size, std::string_view value) {
        if (offset < done_) {
            return;
        }
        result_ += html_.substr(done_, offset - done_);
        const char before = offset == 0 ? ' ' : html_[offset - 1];
        const bool is_quoted = before == '"' || before == '\'';
        result_ += is_quoted ? "" : "\"";
        append_markup_text(result_, value);
        result_ += is_quoted ? "" : "\"";
        done_ = offset + size;
    }

    std::string finish() {
        result_ += html_.substr(std::min(done_, html_.size()));
        return std::move(result_);
    }

private:
    std::optional<std::string> local_reference(std::string_view reference) const {
        reference = without_blanks(reference);
        if (reference.empty() || reference.starts_with('#')) {
            return std::nullopt;
        }
        const std::optional<http::url> target = base_->try_resolve(reference);
        if (!target || !target->scheme().starts_with("http")) {
            return std::nullopt;
        }
        const std::string local = (*lookup_)(target->canonical().without_fragment().text());
        if (local.empty()) {
            return target->text();
        }
        const std::string_view fragment = target->fragment();
        return fragment.empty() ? local : local + "#" + std::string(fragment);
    }

    // `parts` are views into the value.
    std::string with_parts_replaced(const std::string& value,
                                    const std::vector<std::string_view>& parts) const {
        std::string made;
        std::size_t done = 0;
        for (const std::string_view part : parts) {
            const auto at = static_cast<std::size_t>(part.data() - value.data());
            made += value.substr(done, at - done);
            made += local_reference(part).value_or(std::string(part));
            done = at + part.size();
        }
        return made + value.substr(done);
    }

    std::string_view html_;
    const http::url* base_;
    const mirror_lookup* lookup_;
    std::size_t done_ = 0;
    std::string result_;
};

}  // namespace

std::string with_mirror_links(std::string_view html, std::string_view content_type,
                              const http::url& url, const mirror_lookup& lookup) {
    link_options options;
    options.with_parts = true;
    link_extractor extractor(options);
    extractor.begin(content_type);
    extractor.feed(html);
    const page_links found = extractor.finish();
    http::url base = url;
    if (!found.base.empty()) {
        const auto resolved = url.try_resolve(found.base);
        if (resolved && resolved->scheme().starts_with("http")) {
            base = *resolved;
        }
    }
    mirror_rewriter rewriter(html, base, lookup);
    bool has_base = found.base_size == 0;
    for (const page_link& each : found.links) {
        if (!has_base && each.offset > found.base_offset) {
            rewriter.replace(found.base_offset, found.base_size, "");
            has_base = true;
        }
        rewriter.take(each);
    }
    if (!has_base) {
        rewriter.replace(found.base_offset, found.base_size, "");
    }
    return rewriter.finish();
}

}  // namespace weir::crawl::detail
