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

}  // namespace
