// SPDX-License-Identifier: MIT
// A decision for a key that is known, or that takes the place of another, allocates nothing.

#include "allocations/counting.hpp"

#include <weir/flow/combined_limiter.hpp>
#include <weir/flow/keyed_limiter.hpp>
#include <weir/flow/token_bucket.hpp>

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::task;

TEST(Allocations, KeyedLimiterWithKnownKeys) {
    weir::keyed_limiter<std::string> limiter({.rate = 1e6, .burst = 1e6});
    int turn = 0;
    auto once = [&]() -> task<> {
        (void)limiter.try_acquire(++turn % 2 == 0 ? "a client with a rather long name" : "another");
        co_await limiter.acquire("a third");
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, CombinedLimiter) {
    weir::token_bucket bucket({.rate = 1e6, .burst = 10});
    weir::keyed_limiter<int> limiter({.rate = 1e6, .burst = 10});
    weir::combined_limiter both(bucket, limiter.for_key(1));
    auto once = [&]() -> task<> {
        (void)both.try_acquire();
        co_await both.acquire();
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
