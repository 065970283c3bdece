// SPDX-License-Identifier: MIT
// One extractor serves all pages of a crawl: a page is read in one step, without a suspension.

#include "crawl/engine/response_reader.hpp"

#include "crawl/fetch/content_type.hpp"
#include "crawl/politeness/robots_keeper.hpp"

#include <weir/crawl/sitemap.hpp>

#include <iterator>
#include <optional>
#include <utility>

namespace weir::crawl::detail {

namespace {

link_options extraction_options(const crawl_options& options, std::string agent) {
    link_options made;
    made.max_links = std::size_t{options.max_links_per_page} + 1'000'000;
    made.with_parts = options.fetch_assets;
    made.with_positions = options.record_links;
    made.with_fragments = options.record_links;
    made.agent = std::move(agent);
    return made;
}

}  // namespace

response_reader::response_reader(const crawl_options& options)
    : options_(options),
      agent_(robots_token(options.user_agent)),
      extractor_(extraction_options(options, agent_)) {}

void response_reader::read_head(fetch_result& from, page_unit& unit, hash_seed seed) {
    page& to = unit.settled;
    unit.body = std::move(from.body);
    to.body = unit.body;
    to.headers = std::move(from.headers);
    to.http_version = from.http_version;
    to.bytes = unit.body.size();
    to.wire_bytes = from.wire_bytes;
    to.content_type = lower_type(to.headers.get("content-type"));
    if (!unit.body.empty()) {
        to.body_hash = seeded_hash<std::string_view>()(unit.body, seed) >> 1 | 1;
    }
}

http::url response_reader::read(const http::url& url, fetch_result& from, page_unit& unit,
                                hash_seed seed) {
    read_head(from, unit, seed);
    page& to = unit.settled;
    const page_robots robots = header_robots(to.headers, agent_);
    to.is_noindex = robots.noindex;
    to.is_nofollow = robots.nofollow;
    to.document_links = header_links(to.headers);
    http::url base = url;
    if (from.has_body && (is_html(to.content_type) || to.content_type.empty())) {
        if (to.content_type.empty() ? looks_like_html(unit.body) : !looks_binary(unit.body)) {
            read_document(url, unit, base);
        } else if (!to.content_type.empty()) {
            to.error = page_error(error_kind::content, fetch_stage::body,
                                  "the type is '" + to.content_type + "', the body is binary");
        }
    }
    return base;
}

void response_reader::read_sitemap(fetch_result& from, page_unit& unit, hash_seed seed) {
    read_head(from, unit, seed);
    page& to = unit.settled;
    sitemap found = crawl::read_sitemap(unit.body);
    if (found.kind == sitemap_kind::unknown) {
        to.error =
            page_error(error_kind::content, fetch_stage::body,
                       "not a sitemap" + (found.problem.empty() ? "" : ": " + found.problem));
        return;
    }
    for (sitemap_entry& each : found.entries) {
        page_link& link = to.document_links.emplace_back();
        link.kind =
            found.kind == sitemap_kind::index ? link_kind::sitemap_file : link_kind::sitemap;
        link.reference = std::move(each.location);
    }
    if (from.error) {
        found.problem = from.error.text;
    }
    if (!found.problem.empty()) {
        to.error = page_error(error_kind::content, fetch_stage::body,
                              "the sitemap is not complete: " + found.problem + "; " +
                                  std::to_string(found.entries.size()) + " entries were read");
    }
}

void response_reader::read_document(const http::url& url, page_unit& unit, http::url& base) {
    page& to = unit.settled;
    extractor_.begin(to.headers.get("content-type"));
    extractor_.feed(unit.body);
    page_links found = extractor_.finish();
    to.title = std::move(found.title);
    to.charset = std::move(found.charset);
    to.is_noindex = to.is_noindex || found.robots.noindex;
    to.is_nofollow = to.is_nofollow || found.robots.nofollow;
    to.cut_links = static_cast<std::uint32_t>(found.cut);
    if (!found.base.empty()) {
        std::optional<http::url> resolved = url.try_resolve(found.base);
        if (resolved && resolved->scheme().starts_with("http")) {
            base = *std::move(resolved);
            to.base = base.text();
        }
    }
    if (!found.canonical.empty()) {
        const std::optional<http::url> resolved = base.try_resolve(found.canonical);
        to.canonical = resolved ? resolved->text() : std::string();
    }
    if (to.document_links.empty()) {
        to.document_links = std::move(found.links);
    } else {
        to.document_links.insert(to.document_links.end(),
                                 std::make_move_iterator(found.links.begin()),
                                 std::make_move_iterator(found.links.end()));
    }
    to.anchors = std::move(found.fragments);
}

}  // namespace weir::crawl::detail
