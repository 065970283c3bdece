// SPDX-License-Identifier: MIT
// Most links of a page are known: the memo answers for them without taking the reference apart. A
// link that is new, or whose answer depends on the depth of the page, goes the whole way.

#include "crawl/engine/link_collector.hpp"

#include "base/wall_time.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::crawl::detail {

namespace {

constexpr std::uint32_t max_sitemap_nesting = 3;  // indexes of indexes

bool is_scheme_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
}

// 'mailto:x', 'javascript:...', 'data:...': what is never requested.
bool has_other_scheme(std::string_view reference) noexcept {
    while (!reference.empty() && static_cast<unsigned char>(reference.front()) <= ' ') {
        reference.remove_prefix(1);
    }
    std::size_t end = 0;
    while (end < reference.size() && is_scheme_letter(reference[end])) {
        ++end;
    }
    if (end == 0 || end == reference.size() || reference[end] != ':') {
        return false;
    }
    const auto equals = [scheme = reference.substr(0, end)](std::string_view name) {
        return std::equal(scheme.begin(), scheme.end(), name.begin(), name.end(),
                          [](char left, char right) { return (left | 0x20) == right; });
    };
    return !equals("http") && !equals("https");
}

std::string_view folder_of(const http::url& base) noexcept {
    const std::string_view text = base.text();
    const std::size_t path_end = text.size() -
                                 (base.fragment().empty() ? 0 : base.fragment().size() + 1) -
                                 (base.query().empty() ? 0 : base.query().size() + 1);
    return text.substr(0, text.substr(0, path_end).find_last_of('/') + 1);
}

// Without the blanks that browsers drop: at the end, and line ends and tabs anywhere.
std::string fragment_of(std::string_view reference) {
    const std::size_t at = reference.find('#');
    std::string fragment(at == std::string_view::npos ? "" : reference.substr(at + 1));
    while (!fragment.empty() && static_cast<unsigned char>(fragment.back()) <= ' ') {
        fragment.pop_back();
    }
    std::erase_if(fragment, [](char c) { return c == '\n' || c == '\r' || c == '\t'; });
    return fragment;
}

}  // namespace

url_row link_collector::row_of(const http::url& url, std::uint64_t fingerprint) {
    url_row row;
    row.id = ++last_id_;
    row.fingerprint = fingerprint;
    row.url = url.text();
    row.found_at = weir::detail::wall_time();
    traps_.add(row.url);
    crawl_host& host = hosts_.host_of(url.origin());
    row.host = host.row.id;
    if (host.row.urls++ == 0) {
        new_hosts_.push_back(&host);
    }
    return row;
}

std::optional<url_row> link_collector::add_seed(const http::url& seed) {
    const http::url url = rules_.normal(seed);
    const std::uint64_t fingerprint = fingerprint_of(url.text());
    if (!seen_.insert(fingerprint)) {
        return std::nullopt;
    }
    return row_of(url, fingerprint);
}

std::optional<url_row> link_collector::add_sitemap(const http::url& sitemap) {
    std::optional<url_row> row = add_seed(sitemap);
    if (row) {
        row->found_as = link_kind::sitemap_file;
    }
    return row;
}

// Sitemaps are not pages that somebody could exclude, and an index may name those beside it.
link_refusal link_collector::check(const http::url& url, const url_row& source,
                                   link_kind kind) const {
    const link_refusal refusal = rules_.check(url);
    if (kind != link_kind::sitemap_file) {
        // A link out of the scope can be excluded from being checked.
        return refusal == link_refusal::scope && rules_.is_excluded(url) ? link_refusal::excluded
                                                                         : refusal;
    }
    const bool is_beside = hosts_.host(source.host).row.origin == url.origin();
    return refusal == link_refusal::excluded || (refusal == link_refusal::scope && is_beside)
               ? link_refusal::none
               : refusal;
}

// What a report can show: the URL, or the reference if it is none that could be requested.
std::string link_collector::refused_url(const http::url& base, const page_link& link,
                                        link_refusal why) const {
    if (why != link_refusal::invalid && why != link_refusal::scheme) {
        if (const std::optional<http::url> resolved = base.try_resolve(link.reference)) {
            return rules_.normal(*resolved).text().substr(0, options_.max_url_length);
        }
    }
    return link.reference.substr(0, options_.max_url_length);
}

void link_collector::collect(const url_row& source, const http::url& base, page_unit& unit) {
    page& from = unit.settled;
    memo_.set_base(folder_of(base));
    from.links = static_cast<std::uint32_t>(from.document_links.size());
    const bool is_sitemap = source.found_as == link_kind::sitemap_file;
    if (!is_sitemap && !traps_.add_body(source.url, from.body_hash)) {
        unit.refused[static_cast<std::size_t>(link_refusal::equal_body)] += from.links;
        return;
    }
    const std::uint32_t limit =
        is_sitemap ? std::numeric_limits<std::uint32_t>::max() : options_.max_links_per_page;
    std::uint32_t taken = 0;
    for (const page_link& each : from.document_links) {
        if (taken >= limit) {
            ++from.cut_links;
            ++unit.refused[static_cast<std::size_t>(link_refusal::page_full)];
            continue;
        }
        ++taken;
        const found result = take(source, base, each, unit);
        if (result.refusal != link_refusal::none) {
            ++unit.refused[static_cast<std::size_t>(result.refusal)];
        }
        if (options_.record_links) {
            link_row row;
            row.page = source.id;
            row.target = result.fingerprint;
            row.kind = each.kind;
            row.refusal = result.refusal;
            row.line = each.line;
            row.column = each.column;
            row.fragment = fragment_of(each.reference);
            if (result.fingerprint == 0 || result.refusal != link_refusal::none) {
                row.url = refused_url(base, each, result.refusal);
            }
            unit.links.push_back(std::move(row));
        }
    }
}

link_collector::found link_collector::take(const url_row& source, const http::url& base,
                                           const page_link& link, page_unit& unit) {
    const bool is_page = is_page_link(link.kind);
    if (!is_page && !options_.fetch_assets) {
        return {0, link_refusal::not_a_page};
    }
    if ((link.is_nofollow || unit.settled.is_nofollow) && !options_.follow_nofollow && is_page) {
        return {0, link_refusal::nofollow};
    }
    const bool is_covered = link_memo::is_covered(link.reference);
    const std::uint64_t key = is_covered ? memo_.key_of(link.reference) : 0;
    if (is_covered) {
        if (const link_memo::entry* const known = memo_.find(key)) {
            return {known->fingerprint, known->refusal};
        }
    }
    found result;
    std::optional<http::url> resolved;
    if (has_other_scheme(link.reference)) {
        result.refusal = link_refusal::scheme;
    } else {
        resolved = base.try_resolve(link.reference);
        if (!resolved) {
            result.refusal = link_refusal::invalid;
        } else if (!resolved->scheme().starts_with("http")) {
            result.refusal = link_refusal::scheme;
        }
    }
    if (result.refusal == link_refusal::none) {
        const http::url url = rules_.normal(*std::move(resolved));
        result.refusal = check(url, source, link.kind);
        const bool is_external = result.refusal == link_refusal::scope && options_.check_external;
        if (result.refusal == link_refusal::none || is_external) {
            // Pages of a sitemap are as good as seeds; sitemaps count their own nesting.
            const std::uint32_t depth =
                link.kind == link_kind::sitemap ? 0 : source.depth + (is_page ? 1 : 0);
            result.fingerprint = fingerprint_of(url.text());
            result.refusal = link_refusal::none;
            if (!seen_.contains(result.fingerprint)) {
                result.refusal =
                    add(url, result.fingerprint, source, link, depth, is_external, unit);
            }
            result.is_final = result.refusal != link_refusal::depth;
        }
    }
    if (is_covered && result.is_final) {
        memo_.keep(key, result.fingerprint, result.refusal);
    }
    return result;
}

link_refusal link_collector::add(const http::url& url, std::uint64_t fingerprint,
                                 const url_row& source, const page_link& link, std::uint32_t depth,
                                 bool is_external, page_unit& unit) {
    const bool is_sitemap = link.kind == link_kind::sitemap_file;
    const std::uint32_t max_depth = is_sitemap ? max_sitemap_nesting : options_.max_depth;
    if (depth > max_depth && !is_external) {
        return link_refusal::depth;
    }
    const candidate found{url.text(), unit.settled, link, depth};
    if (should_follow && !is_sitemap && !should_follow(found)) {
        return link_refusal::refused;
    }
    if (seen_.size() >= options_.max_urls) {
        return link_refusal::crawl_full;
    }
    if (options_.max_pages_per_host != crawl_options::unlimited) {
        const crawl_host* const host = hosts_.find(url.origin());
        if (host != nullptr && host->row.urls >= options_.max_pages_per_host) {
            return link_refusal::host_full;
        }
    }
    if (!traps_.has_room_for(url.text())) {
        return link_refusal::pattern_full;
    }
    seen_.insert(fingerprint);
    url_row row = row_of(url, fingerprint);
    row.depth = depth;
    row.found_as = link.kind;
    row.is_external = is_external;
    row.referrer = source.id;
    row.referrer_url = source.url;
    if (priority) {
        row.priority = priority(found);
    }
    unit.new_urls.push_back(std::move(row));
    ++unit.settled.new_links;
    return link_refusal::none;
}

page_error link_collector::follow_redirect(const url_row& source, const http::url& from,
                                           std::string_view to, page_unit& unit) {
    const auto fail = [](std::string text) {
        return page_error(error_kind::redirect, fetch_stage::head, std::move(text));
    };
    if (has_other_scheme(to)) {
        return fail("redirects to '" + std::string(to.substr(0, 200)) + "', which is not HTTP");
    }
    const std::optional<http::url> resolved = from.try_resolve(to);
    if (!resolved) {
        return fail("redirects to '" + std::string(to.substr(0, 200)) +
                    "', which is not a valid URL");
    }
    const http::url url = rules_.normal(*resolved);
    unit.settled.location = url.text();
    const std::string chain = source.chain + source.url + "\n";
    const auto as_list = [&chain, &url] {
        std::string list = chain + url.text();
        for (std::size_t at = 0; (at = list.find('\n', at)) != std::string::npos;) {
            list.replace(at, 1, " -> ");
        }
        return list;
    };
    if (("\n" + chain).find("\n" + url.text() + "\n") != std::string::npos) {
        return fail("redirect loop: " + as_list());
    }
    const auto hops = static_cast<std::uint32_t>(std::count(chain.begin(), chain.end(), '\n'));
    if (hops > options_.max_redirects) {
        return fail("too many redirects: " + as_list());
    }
    page_link link;
    link.kind = source.found_as == link_kind::sitemap_file ? source.found_as : link_kind::redirect;
    link.reference = to;
    link_refusal refusal = check(url, source, link.kind);
    const bool is_external =
        source.is_external || (refusal == link_refusal::scope && options_.check_external);
    if (refusal == link_refusal::none || is_external) {
        const std::uint64_t fingerprint = fingerprint_of(url.text());
        refusal = seen_.contains(fingerprint)
                      ? link_refusal::none
                      : add(url, fingerprint, source, link, source.depth, is_external, unit);
        if (refusal == link_refusal::none && !unit.new_urls.empty()) {
            unit.new_urls.back().chain = chain;
        }
    }
    if (refusal != link_refusal::none) {
        ++unit.refused[static_cast<std::size_t>(refusal)];
    }
    return {};
}

}  // namespace weir::crawl::detail
