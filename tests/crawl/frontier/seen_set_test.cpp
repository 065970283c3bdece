// SPDX-License-Identifier: MIT
// The seen set against std::set, over its growth.

#include "crawl/frontier/seen_set.hpp"

#include <weir/base/random.hpp>

#include <gtest/gtest.h>

#include <set>

namespace seen_set_test {

using weir::crawl::detail::seen_set;

TEST(CrawlSeenSet, AgreesWithASet) {
    weir::detail::random_source random(7);
    seen_set seen;
    std::set<std::uint64_t> model;
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t key = random.next_below(15'000) * 0x9e3779b97f4a7c15u;
        EXPECT_EQ(seen.contains(key), model.contains(key));
        EXPECT_EQ(seen.insert(key), model.insert(key).second);
    }
    EXPECT_EQ(seen.size(), model.size());
    for (const std::uint64_t each : model) {
        EXPECT_TRUE(seen.contains(each));
    }
}

TEST(CrawlSeenSet, ZeroIsAFingerprint) {
    seen_set seen;
    EXPECT_FALSE(seen.contains(0));
    EXPECT_TRUE(seen.insert(0));
    EXPECT_FALSE(seen.insert(0));
    seen.reserve(100'000);
    EXPECT_TRUE(seen.contains(0));
}

}  // namespace seen_set_test
