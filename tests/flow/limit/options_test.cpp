// SPDX-License-Identifier: MIT
// Options that make no sense are refused when the limiter is made, by name.

#include <weir/error.hpp>
#include <weir/flow/fixed_window.hpp>
#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace std::chrono_literals;

constexpr double infinite = std::numeric_limits<double>::infinity();

static_assert(std::is_trivially_destructible_v<weir::sliding_window_options>);
static_assert(std::is_trivially_destructible_v<weir::sliding_window_counter_options>);
static_assert(std::is_trivially_destructible_v<weir::fixed_window_options>);
static_assert(std::is_trivially_destructible_v<weir::leaky_bucket_options>);

template <class Options>
std::string complaint(const Options& options) {
    try {
        const typename Options::policy_type made(options);
        return "none";
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
}

TEST(LimiterOptions, TokenBucket) {
    using options = weir::token_bucket_options;
    EXPECT_EQ(complaint(options{}),
              "token_bucket: rate is 0; it must be a positive number of tokens");
    for (const double bad : {-1.0, 0.0, infinite, std::nan("")}) {
        EXPECT_NE(complaint(options{.rate = bad}).find("rate is"), std::string::npos);
        EXPECT_NE(complaint(options{.rate = 1, .burst = bad}).find("burst is"), std::string::npos);
    }
    EXPECT_EQ(complaint(options{.rate = 1, .per = 0s}),
              "token_bucket: per is 0 s; it must be a time above zero");
    EXPECT_EQ(complaint(options{.rate = 1, .max_wait = -1s}),
              "token_bucket: max_wait is -1 s; it must be zero or more");
    EXPECT_NE(complaint(options{.rate = 1.1e9}).find("at most one token each nanosecond"),
              std::string::npos);
    EXPECT_NE(complaint(options{.rate = 1e-12}).find("in nine years"), std::string::npos);
    EXPECT_NE(complaint(options{.rate = 1, .burst = 1e12}).find("fills within nine years"),
              std::string::npos);
    EXPECT_EQ(complaint(options{.rate = 1e9, .burst = 1e9}), "none");
    EXPECT_EQ(complaint(options{.rate = 0.001, .burst = 0.5}), "none");
    EXPECT_EQ(complaint(options{.rate = std::numeric_limits<double>::denorm_min(), .per = 1h}),
              "token_bucket: rate is 4.94066e-324; it must be at least one token in nine years");
}

template <class Options>
void check_window_options(const std::string& name) {
    for (const double bad : {-1.0, 0.0, infinite, std::nan(""), 1e10}) {
        EXPECT_NE(complaint(Options{.limit = bad}).find(name + ": limit is"), std::string::npos);
    }
    for (const auto bad : {-1ns, 0ns, weir::clock::duration::max()}) {
        EXPECT_NE(complaint(Options{.limit = 1, .window = bad}).find(name + ": window is"),
                  std::string::npos);
    }
    EXPECT_EQ(complaint(Options{.limit = 0.5, .window = 1ns}), "none");
}

TEST(LimiterOptions, Windows) {
    check_window_options<weir::sliding_window_options>("sliding_window");
    check_window_options<weir::sliding_window_counter_options>("sliding_window_counter");
    check_window_options<weir::fixed_window_options>("fixed_window");
}

TEST(LimiterOptions, LeakyBucket) {
    for (const auto bad : {-1ns, 0ns, weir::clock::duration::max()}) {
        EXPECT_NE(complaint(weir::leaky_bucket_options{.interval = bad}).find("interval is"),
                  std::string::npos);
    }
    EXPECT_EQ(complaint(weir::leaky_bucket_options{.interval = 1ns}), "none");
}

TEST(LimiterOptions, ABadChangeChangesNothing) {
    weir::decision::gcra bucket({.rate = 1, .burst = 5});
    EXPECT_THROW(bucket.set_rate({}, {.rate = 0}), weir::invalid_argument);
    EXPECT_DOUBLE_EQ(bucket.capacity(), 5);
    EXPECT_TRUE(bucket.try_take({}, 5).granted);
}

}  // namespace
