// SPDX-License-Identifier: MIT
// Every kind of link has a name of its own that leads back to it.

#include <weir/crawl/page_link.hpp>

#include <gtest/gtest.h>

#include <set>

namespace page_link_test {

using namespace weir::crawl;

TEST(CrawlPageLink, NamesLeadBackToTheirKinds) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(link_kind::other); ++i) {
        const auto kind = static_cast<link_kind>(i);
        EXPECT_TRUE(names.insert(name_of(kind)).second) << name_of(kind);
        EXPECT_EQ(link_kind_named(name_of(kind)), kind);
    }
    EXPECT_FALSE(link_kind_named("href"));
}

TEST(CrawlPageLink, PartsOfAPageAreNoPageLinks) {
    EXPECT_TRUE(is_page_link(link_kind::anchor));
    EXPECT_TRUE(is_page_link(link_kind::sitemap));
    EXPECT_FALSE(is_page_link(link_kind::image));
    EXPECT_FALSE(is_page_link(link_kind::other));
}

}  // namespace page_link_test
