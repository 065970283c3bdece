// SPDX-License-Identifier: MIT
// Options that make no sense are refused, with a message that says which and why.

#include "support.hpp"

#include <limits>

namespace {

using namespace pool_tests;

TEST(PoolOptions, BadOnesAreNamed) {
    const auto message = [](const weir::pool_options& options) -> std::string {
        try {
            weir::pool<int> pool(options, [] { return 1; });
        } catch (const weir::invalid_argument& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message({.name = "db", .max = 0}),
              "pool 'db': max is 0; it must be between 1 and 2^40");
    EXPECT_NE(message({.max = std::size_t(-1)}).find("max is 1.84467e+19"), std::string::npos);
    EXPECT_NE(message({.max = 1, .min_idle = 2}).find("min_idle is 2"), std::string::npos);
    EXPECT_NE(message({.max_wait = 0s}).find("max_wait is 0 s"), std::string::npos);
    EXPECT_NE(message({.max_wait = -1s}).find("max_wait is -1 s"), std::string::npos);
    EXPECT_NE(message({.connect_timeout = 0s}).find("connect_timeout"), std::string::npos);
    EXPECT_NE(message({.check_timeout = -1ns}).find("check_timeout"), std::string::npos);
    EXPECT_NE(message({.close_timeout = 0s}).find("close_timeout"), std::string::npos);
    EXPECT_NE(message({.check_after = -1s}).find("check_after"), std::string::npos);
    EXPECT_NE(message({.max_lifetime = 0s}).find("max_lifetime"), std::string::npos);
    EXPECT_NE(message({.lifetime_jitter = 1.0}).find("lifetime_jitter"), std::string::npos);
    EXPECT_NE(message({.lifetime_jitter = -0.1}).find("lifetime_jitter"), std::string::npos);
    EXPECT_NE(message({.lifetime_jitter = std::numeric_limits<double>::quiet_NaN()})
                  .find("lifetime_jitter is nan"),
              std::string::npos);
    EXPECT_NE(message({.idle_timeout = 0s}).find("idle_timeout"), std::string::npos);
    EXPECT_NE(message({.max_uses = 0}).find("max_uses"), std::string::npos);
    EXPECT_NE(message({.keep_alive = 0s}).find("keep_alive"), std::string::npos);
    EXPECT_NE(message({.keep_alive = 1s}).find("no check function"), std::string::npos);
    EXPECT_NE(message({.leak_after = 0s}).find("leak_after"), std::string::npos);
    EXPECT_NE(message({.connect_backoff = -1s}).find("connect_backoff"), std::string::npos);
    EXPECT_NE(message({.connect_backoff = 1h}).find("connect_backoff"), std::string::npos);
    EXPECT_NE(message({.max_connect_backoff = 0s}).find("max_connect_backoff"), std::string::npos);
    EXPECT_EQ(message({}), "accepted");
    EXPECT_EQ(message({.max = 2, .min_idle = 2}), "accepted");
    EXPECT_THROW(weir::pool<int>({}, weir::pool_functions<int>{}), weir::invalid_argument);
}

}  // namespace
