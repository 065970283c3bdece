// SPDX-License-Identifier: MIT
// Options: bad values are named, and the identity has what a resumed crawl must share.

#include <weir/crawl/crawl_options.hpp>
#include <weir/error.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace crawl_options_test {

using namespace weir::crawl;

std::string reason_of(const crawl_options& options) {
    try {
        options.check();
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(CrawlOptions, DefaultsAreValid) {
    EXPECT_EQ(reason_of(crawl_options()), "");
}

TEST(CrawlOptions, BadValuesAreNamed) {
    crawl_options options;
    options.max_pages = 0;
    EXPECT_NE(reason_of(options).find("max_pages"), std::string::npos);
    options = crawl_options();
    options.rate = -1;
    EXPECT_NE(reason_of(options).find("rate is -1"), std::string::npos);
    options.rate = std::nan("");
    EXPECT_NE(reason_of(options).find("rate"), std::string::npos);
    options = crawl_options();
    options.timeout = weir::clock::duration::zero();
    EXPECT_NE(reason_of(options).find("timeout"), std::string::npos);
    options = crawl_options();
    options.user_agent = "a\nb";
    EXPECT_NE(reason_of(options).find("user_agent"), std::string::npos);
}

TEST(CrawlOptions, TheIdentityHasWhatDecidesAboutUrls) {
    crawl_options options;
    options.exclude.emplace_back("*.pdf");
    options.max_depth = 3;
    const std::string identity = options.identity();
    EXPECT_NE(identity.find("scope host\n"), std::string::npos);
    EXPECT_NE(identity.find("exclude *.pdf\n"), std::string::npos);
    EXPECT_NE(identity.find("depth 3\n"), std::string::npos);
    crawl_options more = options;
    more.max_pages = 7;
    more.max_urls = 100;
    more.ignore_robots.emplace_back("a.test");
    more.rate = 3;
    more.concurrency = more.per_host = 1;
    more.max_body = 1000;
    EXPECT_EQ(more.identity(), identity);
}

TEST(CrawlOptions, TheIdentityHasEachLimitThatDropsLinks) {
    const auto line = [](auto member, auto value) {
        crawl_options options;
        const std::string usual = options.identity();
        options.*member = value;
        const std::string changed = options.identity();
        EXPECT_TRUE(changed.starts_with(usual));
        return changed.substr(usual.size());
    };
    EXPECT_EQ(line(&crawl_options::follow_nofollow, true), "follow-nofollow 1\n");
    EXPECT_EQ(line(&crawl_options::keep_truncated, true), "keep-truncated 1\n");
    EXPECT_EQ(line(&crawl_options::max_links_per_page, 7u), "max-links-per-page 7\n");
    EXPECT_EQ(line(&crawl_options::max_url_length, 99u), "max-url-length 99\n");
    EXPECT_EQ(line(&crawl_options::max_equal_segments, 5u), "max-equal-segments 5\n");
    EXPECT_EQ(line(&crawl_options::max_redirects, 2u), "max-redirects 2\n");
    EXPECT_EQ(line(&crawl_options::max_pages_per_host, 8u), "max-pages-per-host 8\n");
    EXPECT_EQ(line(&crawl_options::max_pages_per_pattern, 9u), "max-pages-per-pattern 9\n");
    EXPECT_EQ(line(&crawl_options::max_equal_bodies, 10u), "max-equal-bodies 10\n");
}

}  // namespace crawl_options_test
