// SPDX-License-Identifier: MIT
// How many calls the writer waits for before it commits.

#include "db/sqlite/batch_forecast.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using weir::sqlite::detail::batch_forecast;

constexpr batch_forecast::time_point start{std::chrono::hours(1)};

TEST(BatchForecast, ExpectsNothingAtFirst) {
    batch_forecast forecast(10);
    EXPECT_FALSE(forecast.expects_calls());
    forecast.begin(1, start);
    EXPECT_EQ(forecast.expected(), 1u);
}

TEST(BatchForecast, ExpectsTheCallsOfTheLastCommit) {
    batch_forecast forecast(10);
    forecast.committed(start, start + 1ms, 4);
    EXPECT_TRUE(forecast.expects_calls());
    EXPECT_TRUE(forecast.expects_more_than(3));
    forecast.begin(1, start + 1ms);
    EXPECT_EQ(forecast.expected(), 4u);
    EXPECT_EQ(forecast.deadline(), start + 2ms);  // as long as a commit takes
}

TEST(BatchForecast, IsBoundedByTheBatch) {
    batch_forecast forecast(3);
    forecast.committed(start, start + 1ms, 8);
    forecast.begin(1, start + 1ms);
    EXPECT_EQ(forecast.expected(), 3u);
}

TEST(BatchForecast, DoesNotWaitForQuickCommits) {
    batch_forecast forecast(10);
    forecast.committed(start, start + 10us, 4);
    EXPECT_FALSE(forecast.expects_calls());
    forecast.begin(1, start + 10us);
    EXPECT_EQ(forecast.expected(), 1u);
}

TEST(BatchForecast, RestsAfterAWaitInVain) {
    batch_forecast forecast(10);
    forecast.committed(start, start + 1ms, 4);
    forecast.note_useless_wait();
    EXPECT_FALSE(forecast.expects_calls());
    int skipped = 0;
    for (;; ++skipped) {
        forecast.committed(start, start + 1ms, 4);
        forecast.begin(1, start + 1ms);
        if (forecast.expected() > 1) {
            break;
        }
    }
    EXPECT_EQ(skipped, 49);
}

}  // namespace
