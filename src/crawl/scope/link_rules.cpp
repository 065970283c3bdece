// SPDX-License-Identifier: MIT
// A list may have a hundred thousand seeds. So the few ends that a host has, and the beginnings of
// a URL, are looked up in sets of those of the seeds.

#include "crawl/scope/link_rules.hpp"

#include "crawl/scope/glob.hpp"

#include <algorithm>
#include <utility>

namespace weir::crawl::detail {

namespace {

bool matches_any(const std::vector<std::string>& patterns, std::string_view text) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [text](const std::string& pattern) { return glob_matches(pattern, text); });
}

}  // namespace

link_rules::link_rules(const crawl_options& options, const std::vector<http::url>& seeds)
    : options_(options) {
    for (const http::url& each : seeds) {
        hosts_.emplace(each.host());
        const std::string_view path = each.path();
        prefixes_.insert(each.origin() + std::string(path.substr(0, path.find_last_of('/') + 1)));
    }
}

bool link_rules::is_in_domain(std::string_view host) const {
    while (!hosts_.contains(host)) {
        const std::size_t dot = host.find('.');
        if (dot == std::string_view::npos) {
            return false;
        }
        host.remove_prefix(dot + 1);
    }
    return true;
}

bool link_rules::has_prefix(std::string_view text) const {
    for (std::size_t at = text.find('/'); at != std::string_view::npos;
         at = text.find('/', at + 1)) {
        if (prefixes_.contains(text.substr(0, at + 1))) {
            return true;
        }
    }
    return false;
}

bool link_rules::is_in_scope(const http::url& url) const {
    switch (options_.scope) {
        case crawl_scope::all:
            return true;
        case crawl_scope::host:
            return hosts_.contains(url.host());
        case crawl_scope::domain:
            return is_in_domain(url.host());
        case crawl_scope::prefix:
            return has_prefix(url.text());
    }
    return false;
}

bool link_rules::is_excluded(const http::url& url) const {
    return matches_any(options_.exclude, url.text());
}

link_refusal link_rules::check(const http::url& url) const {
    const std::string& text = url.text();
    if (text.size() > options_.max_url_length) {
        return link_refusal::length;
    }
    if (has_equal_segments(url.path())) {
        return link_refusal::segments;
    }
    if (!is_in_scope(url)) {
        return link_refusal::scope;
    }
    if (is_excluded(url) || (!options_.include.empty() && !matches_any(options_.include, text))) {
        return link_refusal::excluded;
    }
    return link_refusal::none;
}

bool link_rules::has_equal_segments(std::string_view path) const {
    const std::uint32_t most = options_.max_equal_segments;
    if (most == 0 || static_cast<std::uint32_t>(std::count(path.begin(), path.end(), '/')) < most) {
        return false;
    }
    std::vector<std::string_view> segments;
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::string_view segment = path.substr(0, path.find('/'));
        path.remove_prefix(segment.size());
        if (!segment.empty()) {
            segments.push_back(segment);
        }
    }
    std::sort(segments.begin(), segments.end());
    std::uint32_t run = 1;
    for (std::size_t i = 1; i < segments.size(); ++i) {
        run = segments[i] == segments[i - 1] ? run + 1 : 1;
        if (run >= most) {
            return true;
        }
    }
    return false;
}

// '/a;jsessionid=1/b' has a parameter in its first segment.
http::url link_rules::without_path_parameters(const http::url& url) const {
    std::string left = url.origin();
    std::string_view path = url.path();
    const std::size_t whole = left.size() + path.size();
    while (!path.empty()) {
        const std::string_view part = path.substr(0, path.find_first_of(";/", 1));
        path.remove_prefix(part.size());
        const bool is_parameter = part.front() == ';';
        if (!is_parameter ||
            !matches_any(options_.strip_parameters,
                         part.substr(1, std::min(part.find('='), part.size()) - 1))) {
            left.append(part);
        }
    }
    if (left.size() == whole) {
        return url;
    }
    if (!url.query().empty()) {
        left.append("?").append(url.query());
    }
    return http::url::try_parse(left).value_or(url);
}

http::url link_rules::normal(http::url url) const {
    http::url kept = std::move(url).canonical();
    if (!kept.fragment().empty()) {
        kept = kept.without_fragment();
    }
    if (kept.has_credentials()) {
        kept = kept.without_credentials();
    }
    if (options_.strip_parameters.empty()) {
        return kept;
    }
    if (kept.path().find(';') != std::string_view::npos) {
        kept = without_path_parameters(kept);
    }
    if (kept.query().empty()) {
        return kept;
    }
    std::string left;
    std::string_view query = kept.query();
    while (!query.empty()) {
        const std::string_view parameter = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), parameter.size() + 1));
        const std::string_view name = parameter.substr(0, parameter.find('='));
        if (!matches_any(options_.strip_parameters, name)) {
            left.append(left.empty() ? "" : "&").append(parameter);
        }
    }
    return left.size() == kept.query().size() ? kept : kept.with_query(left);
}

}  // namespace weir::crawl::detail
