// SPDX-License-Identifier: MIT
// After warm-up, retrying allocates nothing: not for a success, and not for a retry either, apart
// from the exceptions that the work throws.

#include "allocations/counting.hpp"

#include <weir/flow/fallback.hpp>
#include <weir/flow/retry.hpp>

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::task;

TEST(Allocations, RetryOfASuccess) {
    weir::retry_budget budget;
    weir::retry_policy policy({.name = "a name too long for the small buffer of a string",
                               .total_time = 1h,
                               .budget = &budget});
    auto once = [&]() -> task<> {
        const int got = co_await policy.run([]() -> task<int> { co_return 1; });
        EXPECT_EQ(got, 1);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, RetryAsAFunction) {
    auto once = []() -> task<> {
        const int got =
            co_await weir::retry({.max_attempts = 5}, []() -> task<int> { co_return 1; });
        EXPECT_EQ(got, 1);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, RetryOfUnwantedValues) {
    weir::retry_policy policy(
        {.retry_if = [](const weir::outcome_view& ended) { return *ended.value<int>() < 3; }});
    auto once = [&]() -> task<> {
        const int got = co_await policy.run([](int attempt) { return attempt; });
        EXPECT_EQ(got, 3);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, FallbackForAnUnwantedValue) {
    weir::fallback_policy<int> policy(5, {.replace_if = [](const weir::outcome_view& ended) {
                                          return *ended.value<int>() == 0;
                                      }});
    auto once = [&]() -> task<> {
        const int got = co_await policy.run([] { return 0; });
        EXPECT_EQ(got, 5);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
