// SPDX-License-Identifier: MIT
// Turns the links of a page into URLs of the crawl: resolves them, asks the rules and the user, and
// drops those that are known. A URL is known from the moment at which it is found, so that of many
// pages that mention it at once, one adds it.
#pragma once

#include "crawl/engine/link_memo.hpp"
#include "crawl/engine/page_unit.hpp"
#include "crawl/frontier/frontier.hpp"
#include "crawl/frontier/seen_set.hpp"
#include "crawl/frontier/trap_counts.hpp"
#include "crawl/scope/link_rules.hpp"

#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/crawler.hpp>
#include <weir/http/url.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::crawl::detail {

// Where a sitemap is, if nobody says otherwise.
inline constexpr std::string_view usual_sitemap = "/sitemap.xml";

class link_collector {
public:
    link_collector(const crawl_options& options, const link_rules& rules, frontier& hosts,
                   seen_set& seen, trap_counts& traps) noexcept
        : options_(options),
          rules_(rules),
          hosts_(hosts),
          seen_(seen),
          traps_(traps),
          memo_(hash_seed()) {}

    void start(hash_seed seed, url_id last_id) {
        seed_ = seed;
        last_id_ = last_id;
        memo_ = link_memo(seed);
    }

    // None if the URL is known.
    std::optional<url_row> add_seed(const http::url& seed);
    // The same for a sitemap that the user or robots.txt names.
    std::optional<url_row> add_sitemap(const http::url& sitemap);
    // Adds the URLs that the page is the first to mention. `base`: what references resolve against.
    void collect(const url_row& source, const http::url& base, page_unit& unit);
    // The target of a redirect. An error says why it must not be followed; a target outside of the
    // scope is none.
    page_error follow_redirect(const url_row& source, const http::url& from, std::string_view to,
                               page_unit& unit);

    std::function<bool(const candidate&)> should_follow;
    std::function<int(const candidate&)> priority;

    // Hosts that got their first URL since the last call.
    std::vector<crawl_host*> take_new_hosts() noexcept { return std::exchange(new_hosts_, {}); }
    std::uint64_t fingerprint_of(std::string_view url) const noexcept {
        return seeded_hash<std::string_view>()(url, seed_);
    }

private:
    struct found {
        std::uint64_t fingerprint = 0;
        link_refusal refusal = link_refusal::none;
        bool is_final = true;  // the same for every page of the folder
    };
    found take(const url_row& source, const http::url& base, const page_link& link,
               page_unit& unit);
    link_refusal add(const http::url& url, std::uint64_t fingerprint, const url_row& source,
                     const page_link& link, std::uint32_t depth, bool is_external, page_unit& unit);
    std::string refused_url(const http::url& base, const page_link& link, link_refusal why) const;
    url_row row_of(const http::url& url, std::uint64_t fingerprint);
    // What the rules say to a link of a page, a redirect, or an entry of a sitemap.
    link_refusal check(const http::url& url, const url_row& source, link_kind kind) const;

    const crawl_options& options_;
    const link_rules& rules_;
    frontier& hosts_;
    seen_set& seen_;
    trap_counts& traps_;
    hash_seed seed_;
    url_id last_id_ = 0;
    link_memo memo_;
    std::vector<crawl_host*> new_hosts_;
};

}  // namespace weir::crawl::detail
