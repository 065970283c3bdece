// SPDX-License-Identifier: MIT
// The counts of a crawl. They change in the transaction of the page that changes them, so that they
// are the same after a crash. done + failed + skipped + pending() = discovered, at any moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::crawl {

// Why a link of a page did not become a URL of the crawl.
enum class link_refusal : std::uint8_t {
    none,
    invalid,       // not a URL
    scheme,        // mailto:, javascript:, data:, ftp:, ...
    scope,         // another host, or outside of the prefix
    excluded,      // by include and exclude
    nofollow,      // rel=nofollow, or the page says so
    depth,         // max_depth
    length,        // max_url_length
    segments,      // max_equal_segments
    host_full,     // max_pages_per_host
    page_full,     // max_links_per_page
    crawl_full,    // max_urls
    refused,       // by should_follow
    not_a_page,    // an image, script or style sheet, and fetch_assets is off
    pattern_full,  // max_pages_per_pattern
    equal_body,    // max_equal_bodies
};
inline constexpr std::size_t link_refusal_count = 16;
std::string_view name_of(link_refusal why) noexcept;

struct counters {
    std::uint64_t discovered = 0;  // URLs
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t skipped = 0;
    std::uint64_t unrequested =
        0;  // settled without a request, and sitemaps: not counted for max_pages
    std::uint64_t redirects = 0;  // of those done
    std::uint64_t retries = 0;    // attempts after the first
    std::uint64_t bytes = 0;      // decoded
    std::uint64_t wire_bytes = 0;
    std::array<std::uint64_t, link_refusal_count> refused{};  // links, by reason

    std::uint64_t settled() const noexcept { return done + failed + skipped; }
    std::uint64_t pending() const noexcept { return discovered - settled(); }

    friend bool operator==(const counters&, const counters&) = default;
};

}  // namespace weir::crawl
