// SPDX-License-Identifier: MIT
// What a crawl fetches, how far it goes, and how it treats hosts. Every option has a default that
// is safe for other people's servers; check() refuses values that make no sense.
#pragma once

#include <weir/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::crawl {

// Which links are followed. Redirects are links, too.
enum class crawl_scope : std::uint8_t {
    host,    // the hosts of the seeds, with any scheme and port of theirs
    domain,  // these hosts and names below them: docs.example.com for a seed example.com
    prefix,  // URLs below the folder of a seed: /docs/ for /docs/index.html
    all,
};

struct crawl_options {
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

    crawl_options() = default;

    // ---- what
    std::vector<std::string> seeds;
    // URLs of sitemaps whose pages are crawled as well, within the scope. Where there are no seeds,
    // the hosts of the sitemaps are the scope.
    std::vector<std::string> sitemaps;
    // Those that robots.txt of the seeds' hosts names; /sitemap.xml of a host that names none.
    bool discover_sitemaps = false;
    crawl_scope scope = crawl_scope::host;
    // Globs over the whole URL, '*' any run of characters, '?' one. A URL is followed if no exclude
    // matches and, where there are includes, one of them does. Seeds are followed always.
    std::vector<std::string> include;
    std::vector<std::string> exclude;
    // Globs of parameters that are removed from every URL, from its query and from the segments of
    // its path: 'utm_*', 'jsessionid' ('/a;jsessionid=1' becomes '/a').
    std::vector<std::string> strip_parameters;
    bool fetch_assets = false;       // images, scripts, style sheets: to check or mirror a site
    bool read_all_bodies = false;    // of images and archives, too: for archives and mirrors
    bool accept_compression = true;  // false: servers are asked for uncompressed bodies
    bool check_external = false;     // links out of scope are requested once, not followed
    bool follow_nofollow = false;    // links with rel=nofollow, and those of nofollow pages
    bool record_links = false;       // every link is kept in the store, for reports and graphs
    bool keep_truncated = false;     // links of a body that was cut short count

    // ---- limits
    std::uint64_t max_pages = unlimited;  // distinct URLs requested, failed ones included
    std::uint64_t max_pages_per_host = unlimited;
    // URLs of a host that differ only in numbers and in the values of their query, such as those of
    // a calendar.
    std::uint64_t max_pages_per_pattern = unlimited;
    // Of so many pages of a host with the same body the links are followed, of more they are not.
    std::uint64_t max_equal_bodies = unlimited;
    std::uint32_t max_depth = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t max_links_per_page = 10'000;
    std::uint64_t max_urls = 20'000'000;  // known ones, which take 8 to 16 bytes of memory each
    std::size_t max_url_length = 2048;
    std::uint32_t max_equal_segments = 3;  // '/a/b/a/b/a' has 'a' three times: not followed
    std::uint32_t max_redirects = 10;
    std::uint64_t max_body = 10 * 1024 * 1024;  // decoded
    clock::duration timeout = std::chrono::seconds(30);
    clock::duration connect_timeout = std::chrono::seconds(10);
    clock::duration max_time = clock::duration::max();  // of the whole run
    std::size_t concurrency = 64;

    // ---- politeness, for each host (scheme, name and port)
    std::size_t per_host = 8;      // requests at a time
    std::size_t per_address = 32;  // the same for all hosts at one address
    double rate = 10;              // requests a second; 0: no limit
    clock::duration delay{};       // between the starts of two requests, if longer than 1 / rate
    clock::duration max_crawl_delay = std::chrono::seconds(60);  // robots.txt may ask for less
    clock::duration max_retry_after = std::chrono::hours(1);
    bool obey_robots = true;
    // After a robots.txt that was answered with an error; the host is given up after three.
    clock::duration robots_retry_delay = std::chrono::minutes(5);
    std::vector<std::string> ignore_robots;  // host names whose robots.txt is not asked
    std::uint32_t max_attempts = 3;
    clock::duration retry_delay = std::chrono::seconds(1);  // doubled each time, with jitter
    std::uint32_t breaker_failures = 5;  // in a row: the host is left alone for breaker_time
    clock::duration breaker_time = std::chrono::seconds(30);
    std::uint32_t breaker_trips = 3;  // in a row: the host is given up, its URLs fail

    // ---- who
    // The token for robots.txt is its beginning, up to the first character that is not a letter,
    // '-' or '_'.
    std::string user_agent = "weir-crawl/0.1";
    // Sent to the origins of the seeds, and nowhere else.
    std::vector<std::pair<std::string, std::string>> headers;

    // ---- the store
    std::size_t batch_pages = 500;
    clock::duration batch_time = std::chrono::milliseconds(50);

    // Throws invalid_argument that names the option, its value and what is allowed.
    void check() const;
    // What must be the same when a crawl is resumed, as text: 'scope host', one a line; that is all
    // that decides which links are followed. The others may change: max_pages and max_urls, which
    // leave the rest pending or unknown, politeness, times, and ignore_robots, which holds for what
    // is requested from then on.
    std::string identity() const;
};

std::string_view name_of(crawl_scope scope) noexcept;

}  // namespace weir::crawl
