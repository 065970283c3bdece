// SPDX-License-Identifier: MIT
// Rate limiters allocate nothing: neither to decide nor to wait.

#include "allocations/counting.hpp"

#include <weir/flow/leaky_bucket.hpp>
#include <weir/flow/sliding_window.hpp>
#include <weir/flow/token_bucket.hpp>

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::task;

template <class Limiter>
void expect_no_allocations(Limiter& limiter) {
    auto once = [&]() -> task<> {
        static_cast<void>(co_await limiter.acquire());
        const bool again = limiter.try_acquire().has_value();
        static_cast<void>(again);
        const auto in = co_await limiter.admit();
        EXPECT_TRUE(in);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, TokenBucket) {
    weir::token_bucket bucket({.rate = 1000, .burst = 2, .max_wait = 1h});
    expect_no_allocations(bucket);
}

TEST(Allocations, SlidingWindow) {
    weir::sliding_window window({.limit = 100});
    expect_no_allocations(window);
}

TEST(Allocations, LeakyBucket) {
    weir::leaky_bucket pace({.interval = 1ms, .max_wait = 1h});
    expect_no_allocations(pace);
}

TEST(Allocations, TokenBucketAsAGate) {
    weir::token_bucket bucket({.rate = 1000, .burst = 2});
    auto once = [&]() -> task<> {
        weir::call_context call("api");
        if (!bucket.try_enter(call)) {
            const auto in = co_await bucket.enter(call);
            EXPECT_TRUE(in);
        }
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, CancelledWaiterOfATokenBucket) {
    weir::token_bucket bucket({.rate = 0.001});
    auto wait = [&]() -> task<> { co_await bucket.acquire(); };
    auto once = [&]() -> task<> {
        const bool taken = bucket.try_acquire().has_value();
        static_cast<void>(taken);
        const auto waiting = weir::spawn(wait());
        co_await weir::yield();
        waiting.cancel();
        co_await waiting.wait();
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
