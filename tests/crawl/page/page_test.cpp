// SPDX-License-Identifier: MIT
// A new record is a pending page without a response.

#include <weir/crawl/page.hpp>

#include <gtest/gtest.h>

namespace page_test {

using namespace weir::crawl;

TEST(CrawlPage, ANewRecordIsPending) {
    const page_record fresh;
    EXPECT_EQ(fresh.state, page_state::pending);
    EXPECT_FALSE(fresh.error);
    EXPECT_EQ(fresh.status, 0);
}

TEST(CrawlPage, StatesHaveNames) {
    EXPECT_EQ(name_of(page_state::pending), "pending");
    EXPECT_EQ(name_of(page_state::done), "done");
    EXPECT_EQ(name_of(page_state::failed), "failed");
    EXPECT_EQ(name_of(page_state::skipped), "skipped");
}

}  // namespace page_test
