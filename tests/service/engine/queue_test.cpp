// SPDX-License-Identifier: MIT
#include <weir/error.hpp>
#include <weir/service/queue.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace {

using namespace weir;
using namespace weir::service;

std::string error_of(const queue_limits& limits) {
    try {
        check(limits);
    } catch (const invalid_argument& error) {
        return error.what();
    }
    return "";
}

TEST(Queue, RefusesInvalidLimitsByName) {
    EXPECT_EQ(error_of({}), "");
    EXPECT_NE(error_of({.rate = -1}).find("rate"), std::string::npos);
    EXPECT_NE(error_of({.rate = std::numeric_limits<double>::quiet_NaN()}), "");
    EXPECT_NE(error_of({.burst = 0}).find("burst"), std::string::npos);
    EXPECT_NE(error_of({.key_rate = 1e7}).find("key_rate"), std::string::npos);
    EXPECT_NE(error_of({.key_burst = 0}).find("key_burst"), std::string::npos);
    EXPECT_EQ(error_of({.rate = 1e6, .burst = 1'000'000, .key_rate = 1e6, .key_burst = 1'000'000}),
              "");
    EXPECT_EQ(error_of({.rate = 0, .burst = 1, .key_rate = 0, .key_burst = 1}), "");
    EXPECT_NE(error_of({.rate = 1e6 + 1}).find("rate"), std::string::npos);
    EXPECT_TRUE(error_of({.rate = -1}).starts_with("queue")) << error_of({.rate = -1});
    EXPECT_TRUE(error_of({.key_rate = -1}).starts_with("queue")) << error_of({.key_rate = -1});
    EXPECT_TRUE(error_of({.burst = 0}).starts_with("queue")) << error_of({.burst = 0});
    EXPECT_TRUE(error_of({.key_burst = 0}).starts_with("queue")) << error_of({.key_burst = 0});
    EXPECT_NE(error_of({.burst = 1'000'001}).find("burst"), std::string::npos);
    EXPECT_NE(error_of({.key_rate = -0.1}).find("key_rate"), std::string::npos);
    EXPECT_NE(error_of({.key_burst = 1'000'001}).find("key_burst"), std::string::npos);
}

TEST(Queue, CountsTasksByState) {
    queue_record queue;
    queue.counts = {1, 2, 3, 4, 5};
    EXPECT_EQ(queue.count(task_state::pending), 1u);
    EXPECT_EQ(queue.count(task_state::running), 2u);
    EXPECT_EQ(queue.count(task_state::cancelled), 5u);
}

}  // namespace
