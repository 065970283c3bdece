// SPDX-License-Identifier: MIT
// Calls through a circuit breaker, and its refusals, allocate nothing after warm-up.

#include "allocations/counting.hpp"

#include <weir/flow/circuit_breaker.hpp>

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::circuit_breaker;
using weir::task;

task<int> work() {
    co_await weir::yield();
    co_return 1;
}

TEST(Allocations, CircuitBreakerClosed) {
    circuit_breaker in_a_row({.consecutive_failures = 5});
    circuit_breaker by_rate({.failure_rate = 0.5,
                             .slow_rate = 0.5,
                             .slow_after = 1s,
                             .window_time = 10s,
                             .stuck_calls = 10,
                             .stuck_after = 10s});
    auto once = [&]() -> task<> {
        co_await in_a_row.run(work);
        co_await by_rate.run(work);
        co_await by_rate.run([] { return 1; });
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, CircuitBreakerRefusing) {
    circuit_breaker breaker;
    auto once = [&]() -> task<> {
        if (breaker.stats().state == weir::circuit_state::closed) {
            breaker.trip();
        }
        const weir::outcome<int> refused = co_await breaker.settle(work);
        EXPECT_TRUE(refused.is_refused());
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
