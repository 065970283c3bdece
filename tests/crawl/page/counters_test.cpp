// SPDX-License-Identifier: MIT
// Counts and the names of refusals.

#include <weir/crawl/counters.hpp>

#include <gtest/gtest.h>

#include <set>

namespace counters_test {

using namespace weir::crawl;

TEST(CrawlCounters, PendingIsWhatIsNotSettled) {
    counters totals;
    totals.discovered = 10;
    totals.done = 3;
    totals.failed = 2;
    totals.skipped = 1;
    EXPECT_EQ(totals.settled(), 6u);
    EXPECT_EQ(totals.pending(), 4u);
}

TEST(CrawlCounters, EveryRefusalHasAName) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < link_refusal_count; ++i) {
        EXPECT_TRUE(names.insert(name_of(static_cast<link_refusal>(i))).second);
    }
}

}  // namespace counters_test
