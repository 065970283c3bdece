// SPDX-License-Identifier: MIT
// Five policies around a call allocate nothing after warm-up, whether the call is ready or waits.

#include "allocations/counting.hpp"

#include <weir/flow/circuit_breaker.hpp>
#include <weir/flow/pipeline.hpp>
#include <weir/flow/retry.hpp>
#include <weir/flow/timeout_policy.hpp>
#include <weir/flow/token_bucket.hpp>

namespace {

using namespace std::chrono_literals;
using weir::task;

task<int> ready() {
    co_return 1;
}
task<int> waiting() {
    co_await weir::yield();
    co_return 1;
}

TEST(Allocations, PipelineOfFive) {
    weir::pipeline api("api", weir::total_timeout{10s}, weir::retry_options{.max_attempts = 3},
                       weir::token_bucket_options{.rate = 1e9, .burst = 1e6},
                       weir::circuit_breaker_options{.consecutive_failures = 5},
                       weir::attempt_timeout{2s});
    auto once = [&]() -> task<> {
        const int first = co_await api.run(ready);
        const int second = co_await api.run(waiting);
        EXPECT_EQ(first + second, 2);
    };
    EXPECT_EQ(counting::in_steady_state(once), 0u);
}

}  // namespace
