// SPDX-License-Identifier: MIT
// Which URLs belong to a crawl: its scope, its patterns, and the traps that it does not walk into.
// The answer depends on the URL and the depth alone.
#pragma once

#include <weir/crawl/counters.hpp>
#include <weir/crawl/crawl_options.hpp>
#include <weir/http/url.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl::detail {

class link_rules {
public:
    // Keeps a reference to the options.
    link_rules(const crawl_options& options, const std::vector<http::url>& seeds);

    // none: it belongs to the crawl. scope: it does not, but may be checked as an external link.
    link_refusal check(const http::url& url) const;
    bool is_in_scope(const http::url& url) const;
    bool is_excluded(const http::url& url) const;
    // The URL as the crawl keeps it: canonical, without fragment, credentials and the parameters
    // that are stripped.
    http::url normal(http::url url) const;

private:
    bool is_in_domain(std::string_view host) const;
    bool has_prefix(std::string_view text) const;
    bool has_equal_segments(std::string_view path) const;
    http::url without_path_parameters(const http::url& url) const;

    const crawl_options& options_;
    std::set<std::string, std::less<>> hosts_;     // of the seeds
    std::set<std::string, std::less<>> prefixes_;  // of the seeds: origin and folder
};

}  // namespace weir::crawl::detail
