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
    EXPECT_EQ(more.identity(), identity);
}

}  // namespace crawl_options_test
