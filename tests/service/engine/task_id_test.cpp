// SPDX-License-Identifier: MIT
#include <weir/service/task_id.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace {

namespace service = weir::service;

TEST(TaskId, TextsSortInTheOrderOfCreation) {
    service::task_id last;
    std::string last_text;
    std::mt19937_64 random(3);
    std::int64_t clock = 1'790'000'000'000;
    for (int i = 0; i < 2000; ++i) {
        clock += static_cast<std::int64_t>(random() % 3) - 1;  // clocks go back, too
        const service::task_id next = service::next_id(last, clock);
        ASSERT_GT(next, last);
        ASSERT_GT(next.text(), last_text);
        ASSERT_EQ(service::task_id::parse(next.text()), next);
        last = next;
        last_text = next.text();
    }
    for (const char* bad : {"", "0", "0000000000000", "z000000000000", "8000000000000",
                            "01hv3k5m2n7pu", "01hv3k5m2n7p ", "01hv3k5m2n7p00"}) {
        EXPECT_FALSE(service::task_id::parse(bad).has_value()) << bad;
    }
    EXPECT_EQ(service::task_id::parse("7ZZZZZZZZZZZZ")->number(), INT64_MAX);
}

TEST(TaskId, TextsAreThirteenLettersOfBase32) {
    EXPECT_EQ(service::task_id(1).text(), "0000000000001");
    EXPECT_EQ(service::task_id(31).text(), "000000000000z");
    EXPECT_EQ(service::task_id(32).text(), "0000000000010");
    EXPECT_EQ(service::task_id(INT64_MAX).text(), "7zzzzzzzzzzzz");
    EXPECT_EQ(service::task_id::parse("000000000000Z")->number(), 31);
    EXPECT_EQ(service::task_id::parse("0000000000001")->number(), 1);
    EXPECT_EQ(service::task_id::parse("7000000000000")->number(), std::int64_t{7} << 60);
    for (const char* bad : {"000000000000i", "000000000000l", "000000000000o", "00000000000-1"}) {
        EXPECT_FALSE(service::task_id::parse(bad).has_value()) << bad;
    }
}

TEST(TaskId, FollowsTheClockAndTheIdBefore) {
    constexpr auto bits = service::task_id::counter_bits;
    EXPECT_EQ(service::next_id({}, 5).number(), std::int64_t{5} << bits);
    EXPECT_EQ(service::next_id(service::task_id(std::int64_t{5} << bits), 5).number(),
              (std::int64_t{5} << bits) + 1);
    EXPECT_EQ(service::next_id(service::task_id(std::int64_t{9} << bits), 5).number(),
              (std::int64_t{9} << bits) + 1);
    EXPECT_EQ(service::next_id({}, -7).number(), std::int64_t{1} << bits) << "not before 1970";
    EXPECT_EQ(service::next_id({}, INT64_MAX).number(), ((std::int64_t{1} << 42) - 1) << bits);
}

}  // namespace
