// SPDX-License-Identifier: MIT
// What counts as one pattern, and when the counts say no.

#include "crawl/frontier/trap_counts.hpp"

#include <weir/base/random.hpp>

#include <gtest/gtest.h>

#include <string>

namespace trap_counts_test {

using namespace weir::crawl;
using weir::crawl::detail::pattern_of;
using weir::crawl::detail::trap_counts;

TEST(CrawlTrapCounts, NumbersAndValuesOfTheQueryDoNotCount) {
    const std::string calendar = pattern_of("http://a.test:8080/cal/2026/11?day=3&view=week");
    EXPECT_EQ(calendar, "http://a.test:8080/cal/0/0?day=&view=");
    EXPECT_EQ(pattern_of("http://a.test:8080/cal/1/2?day=30&view=month"), calendar);
    EXPECT_NE(pattern_of("http://a.test:8081/cal/1/2?day=30&view=month"), calendar);
    EXPECT_NE(pattern_of("http://a.test:8080/cal/1/2?day=30"), calendar);
    EXPECT_NE(pattern_of("http://a.test:8080/cal/x/2?day=30&view=month"), calendar);
    EXPECT_EQ(pattern_of("http://a.test/a=1&b"), "http://a.test/a=0&b");  // a path, not a query
    EXPECT_EQ(pattern_of("http://a.test/?a=b=c?d"), "http://a.test/?a==");
    EXPECT_EQ(pattern_of("http://10.0.0.1"), "http://10.0.0.1");
}

TEST(CrawlTrapCounts, UrlsWithOtherNumbersHaveTheSamePattern) {
    weir::detail::random_source random(3);
    for (int i = 0; i < 2000; ++i) {
        std::string one = "http://a.test/";
        std::string other = one;
        bool was_number = false;
        for (std::uint64_t left = random.next_below(12); left > 0; --left) {
            if (!was_number && random.next_below(2) == 0) {
                one += std::to_string(random.next_below(100'000));
                other += std::to_string(random.next_below(100));
                was_number = true;
            } else {
                const char letter = "ab/-."[random.next_below(5)];
                one += letter;
                other += letter;
                was_number = false;
            }
        }
        EXPECT_EQ(pattern_of(one), pattern_of(other)) << one << ' ' << other;
        EXPECT_EQ(pattern_of(pattern_of(one)), pattern_of(one));
    }
}

TEST(CrawlTrapCounts, NothingIsCountedWithoutTheOptions) {
    const crawl_options options;
    trap_counts traps(options);
    EXPECT_FALSE(traps.is_used());
    for (int i = 0; i < 100; ++i) {
        traps.add("http://a.test/" + std::to_string(i));
        EXPECT_TRUE(traps.add_body("http://a.test/", 7));
    }
    EXPECT_TRUE(traps.has_room_for("http://a.test/100"));
}

TEST(CrawlTrapCounts, BodiesCountForTheirHost) {
    crawl_options options;
    options.max_equal_bodies = 2;
    trap_counts traps(options);
    EXPECT_TRUE(traps.is_used());
    EXPECT_TRUE(traps.add_body("http://a.test/1", 7));
    EXPECT_TRUE(traps.add_body("http://a.test/2", 7));
    EXPECT_FALSE(traps.add_body("http://a.test/3", 7));
    EXPECT_TRUE(traps.add_body("http://a.test/4", 9));
    EXPECT_TRUE(traps.add_body("http://b.test/3", 7));
    EXPECT_TRUE(traps.add_body("http://a.test/5", 0));  // no body
}

}  // namespace trap_counts_test
