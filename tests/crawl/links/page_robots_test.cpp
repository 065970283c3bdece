// SPDX-License-Identifier: MIT
// Robots directives of pages: noindex and nofollow are apart, and those for others are not ours.

#include <weir/crawl/page_robots.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace page_robots_test {

using namespace weir;
using namespace weir::crawl;

page_robots of(std::string_view directives) {
    page_robots read;
    read.add(directives);
    return read;
}

TEST(CrawlPageRobots, T54_NoindexAndNofollowAreApart) {
    EXPECT_EQ(of("noindex, follow"), (page_robots{true, false}));
    EXPECT_EQ(of("NOFOLLOW"), (page_robots{false, true}));
    EXPECT_EQ(of("none"), (page_robots{true, true}));
    EXPECT_EQ(of("index,follow,max-snippet:5"), (page_robots{false, false}));
    EXPECT_EQ(of("noindexed nofollow"), (page_robots{false, false}));
}

TEST(CrawlPageRobots, T54_HeaderForOtherCrawlersIsNotOurs) {
    const auto in = [](std::string_view value) {
        return header_robots({{"X-Robots-Tag", value}}, "weir-crawl");
    };
    EXPECT_EQ(in("noindex"), (page_robots{true, false}));
    EXPECT_EQ(in("otherbot: noindex, nofollow"), (page_robots{false, false}));
    EXPECT_EQ(in("Weir-Crawl: nofollow"), (page_robots{false, true}));
    EXPECT_EQ(in("otherbot: noindex, weir-crawl: nofollow"), (page_robots{false, true}));
    EXPECT_EQ(in("unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"),
              (page_robots{false, true}));
    EXPECT_EQ(
        header_robots({{"X-Robots-Tag", "other: none"}, {"x-robots-tag", "nofollow"}}, "weir"),
        (page_robots{false, true}));
    EXPECT_EQ(header_robots({}, "weir"), page_robots());
}

}  // namespace page_robots_test
