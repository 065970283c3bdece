// SPDX-License-Identifier: MIT
// The rules of a robots.txt (RFC 9309) for one crawler.
//
//     auto robots = weir::crawl::robots_txt::parse(text, "weir-crawl");
//     if (robots.allows("/private/page?x=1")) { ... }
//
// All groups that name the crawler count together; the groups for '*' count only if none names it.
// Of the rules that match a path the longest wins, and 'allow' of two that are equally long. '*'
// stands for any characters, '$' at the end of a rule for the end of the path. Percent-encoding is
// normalised on both sides. Lines that cannot be understood are ignored, and so is everything
// beyond max_size.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::crawl {

class robots_txt {
public:
    // RFC 9309 asks for at least 500 KiB.
    static constexpr std::size_t max_size = 512 * 1024;
    static constexpr std::size_t max_line = 16'664;
    static constexpr std::size_t max_sitemaps = 1000;

    // No rules: everything is allowed.
    robots_txt() = default;
    // `agent`: the crawler's name, of which letters, '-' and '_' at its start are compared, without
    // regard to case.
    static robots_txt parse(std::string_view text, std::string_view agent);

    // `target`: path and query of a URL, beginning with '/'. '/robots.txt' is always allowed. Each
    // rule takes time in proportion to its size and that of the target.
    bool allows(std::string_view target) const;
    // The rule that decides, in normal form: 'Disallow: /private'; none if none matches.
    std::optional<std::string> deciding_rule(std::string_view target) const;

    // Seconds between requests, which is no part of the RFC. Fractions are allowed, and values that
    // are no number are ignored. At most a day.
    std::optional<std::chrono::milliseconds> crawl_delay() const noexcept { return crawl_delay_; }
    // The URLs of all Sitemap lines, wherever they stand, as they were written.
    const std::vector<std::string>& sitemaps() const noexcept { return sitemaps_; }
    // Whether a group names the crawler itself.
    bool names_agent() const noexcept { return names_agent_; }

private:
    struct rule {
        std::string pattern;  // normalised
        bool is_allow = false;
    };
    struct reader;
    const rule* find_rule(std::string_view target) const;

    std::vector<rule> rules_;  // longest first; of two equally long ones, 'allow' first
    std::vector<std::string> sitemaps_;
    std::optional<std::chrono::milliseconds> crawl_delay_;
    bool names_agent_ = false;
};

}  // namespace weir::crawl
