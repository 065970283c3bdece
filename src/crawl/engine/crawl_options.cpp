// SPDX-License-Identifier: MIT
// Each check names the option as the documentation does.

#include <weir/crawl/crawl_options.hpp>
#include <weir/error.hpp>

#include <cmath>

namespace weir::crawl {

namespace {

[[noreturn]] void throw_bad_crawl_option(const std::string& what) {
    throw invalid_argument("crawl_options: " + what);
}

void check_positive(clock::duration value, const char* name) {
    if (value <= clock::duration::zero()) {
        throw_bad_crawl_option(std::string(name) + " must be positive");
    }
}

void check_at_least_one(std::uint64_t value, const char* name) {
    if (value == 0) {
        throw_bad_crawl_option(std::string(name) + " is 0, and must be at least 1");
    }
}

void append_lines(std::string& to, const char* name, const std::vector<std::string>& values) {
    for (const std::string& each : values) {
        to.append(name).append(" ").append(each).append("\n");
    }
}

void append_unusual(std::string& to, const char* name, std::uint64_t value, std::uint64_t usual) {
    if (value != usual) {
        to.append(name).append(" ").append(std::to_string(value)).append("\n");
    }
}

}  // namespace

void crawl_options::check() const {
    check_at_least_one(max_pages, "max_pages");
    check_at_least_one(max_pages_per_host, "max_pages_per_host");
    check_at_least_one(max_pages_per_pattern, "max_pages_per_pattern");
    check_at_least_one(max_equal_bodies, "max_equal_bodies");
    check_at_least_one(max_links_per_page, "max_links_per_page");
    check_at_least_one(max_urls, "max_urls");
    check_at_least_one(max_url_length, "max_url_length");
    check_at_least_one(max_body, "max_body");
    check_at_least_one(concurrency, "concurrency");
    check_at_least_one(per_host, "per_host");
    check_at_least_one(max_attempts, "max_attempts");
    check_at_least_one(batch_pages, "batch_pages");
    check_positive(timeout, "timeout");
    check_positive(connect_timeout, "connect_timeout");
    check_positive(max_time, "max_time");
    check_positive(batch_time, "batch_time");
    if (!(rate >= 0) || std::isinf(rate)) {
        throw_bad_crawl_option("rate is " + std::to_string(rate) +
                               ", and must be a number of requests a second, or 0 for no limit");
    }
    if (delay < clock::duration::zero()) {
        throw_bad_crawl_option("delay must not be negative");
    }
    if (user_agent.empty() || user_agent.find_first_of("\r\n") != std::string::npos) {
        throw_bad_crawl_option("user_agent must be one line that is not empty");
    }
}

// Links that one of these options refuses are not kept: another value would not bring them back.
std::string crawl_options::identity() const {
    std::string text =
        "agent " + user_agent + "\nscope " + std::string(name_of(scope)) + "\ndepth " +
        (max_depth == std::numeric_limits<std::uint32_t>::max() ? "any"
                                                                : std::to_string(max_depth)) +
        "\n";
    append_lines(text, "include", include);
    append_lines(text, "exclude", exclude);
    append_lines(text, "strip", strip_parameters);
    text += std::string("assets ") + (fetch_assets ? "yes" : "no") + "\n";
    text += std::string("external ") + (check_external ? "yes" : "no") + "\n";
    text += std::string("links ") + (record_links ? "yes" : "no") + "\n";
    text += std::string("robots ") + (obey_robots ? "yes" : "no") + "\n";
    const crawl_options usual;
    append_unusual(text, "follow-nofollow", std::uint64_t{follow_nofollow}, 0);
    append_unusual(text, "keep-truncated", std::uint64_t{keep_truncated}, 0);
    append_unusual(text, "max-links-per-page", max_links_per_page, usual.max_links_per_page);
    append_unusual(text, "max-url-length", max_url_length, usual.max_url_length);
    append_unusual(text, "max-equal-segments", max_equal_segments, usual.max_equal_segments);
    append_unusual(text, "max-redirects", max_redirects, usual.max_redirects);
    append_unusual(text, "max-pages-per-host", max_pages_per_host, usual.max_pages_per_host);
    append_unusual(text, "max-pages-per-pattern", max_pages_per_pattern,
                   usual.max_pages_per_pattern);
    append_unusual(text, "max-equal-bodies", max_equal_bodies, usual.max_equal_bodies);
    return text;
}

std::string_view name_of(crawl_scope scope) noexcept {
    switch (scope) {
        case crawl_scope::host:
            return "host";
        case crawl_scope::domain:
            return "domain";
        case crawl_scope::prefix:
            return "prefix";
        case crawl_scope::all:
            return "all";
    }
    return "?";
}

}  // namespace weir::crawl
