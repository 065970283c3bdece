// SPDX-License-Identifier: MIT
// Budgets that calls share: a storm of retries stays small.

#include "naive_budget.hpp"
#include "support.hpp"

#include <weir/flow/decision/latency_histogram.hpp>
#include <weir/weir.hpp>

#include <algorithm>
#include <cmath>
#include <deque>

namespace {

using namespace retry_tests;
using weir::clock;

// As many extra attempts as the share of the calls allows, or the minimum; random comings and
// goings.
TEST(RetryBudget, TheShareInFlightIsNeverExceeded) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        std::mt19937 random(seed);
        const double share = static_cast<double>(random() % 60) / 100;
        const unsigned minimum = random() % 4;
        weir::retry_budget budget(weir::in_flight_budget{.share = share, .minimum = minimum});
        std::vector<weir::retry_budget::call> calls;
        std::vector<weir::retry_budget::extra> extras;
        for (int i = 0; i < 200; ++i) {
            switch (random() % 4) {
                case 0:
                    calls.push_back(budget.begin({}));
                    break;
                case 1:
                    if (!calls.empty() && random() % 2 == 0) {
                        calls.pop_back();
                    }
                    break;
                case 2:
                    if (!extras.empty()) {
                        extras.erase(extras.begin());
                    }
                    break;
                default: {
                    const auto most = std::max<std::size_t>(
                        minimum,
                        static_cast<std::size_t>(share * static_cast<double>(calls.size())));
                    auto extra = budget.try_spend({});
                    ASSERT_EQ(static_cast<bool>(extra), extras.size() < most);
                    if (extra) {
                        extras.push_back(std::move(extra));
                    }
                }
            }
            ASSERT_EQ(budget.stats().calls_in_flight, calls.size());
            ASSERT_EQ(budget.stats().extra_in_flight, extras.size());
        }
    }
}

// A dependency that is down gets little more than its ordinary traffic.
WEIR_TEST(RetryBudget, KeepsAStormOfRetriesSmall) {
    weir::testing::once_is_enough();
    const auto load_of = [](weir::retry_budget* budget) -> task<int> {
        weir::retry_policy policy({.max_attempts = 5,
                                   .backoff = {.initial = 100ms, .maximum = 1s},
                                   .budget = budget,
                                   .seed = 1});
        int attempts = 0;
        auto call = [&]() -> task<> {
            const outcome<> ended = co_await policy.settle([&] {
                ++attempts;
                throw flaky_error();
            });
            EXPECT_TRUE(ended.has_error());
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (int i = 0; i < 1000; ++i) {
                group.spawn(call);
                co_await weir::sleep(10ms);
            }
        });
        co_return attempts;
    };
    const int without = co_await load_of(nullptr);
    EXPECT_EQ(without, 5000);
    weir::retry_budget by_ratio({.ratio = 0.1, .reserve_per_second = 1});
    const int with_ratio = co_await load_of(&by_ratio);
    EXPECT_GT(with_ratio, 1050);
    EXPECT_LE(with_ratio, 1000 * 1.1 + 30);
    weir::retry_budget by_tokens({.tokens = 100, .per_success = 0.1});
    const int with_tokens = co_await load_of(&by_tokens);
    EXPECT_LE(with_tokens, 1050);
    weir::retry_budget by_share(weir::in_flight_budget{});
    const int with_share = co_await load_of(&by_share);
    EXPECT_LE(with_share, 2000);
    for (const auto* each : {&by_ratio, &by_tokens, &by_share}) {
        EXPECT_EQ(each->stats().calls, 1000u);
        EXPECT_EQ(each->stats().calls_in_flight + each->stats().extra_in_flight, 0u);
        EXPECT_GT(each->stats().refused, 0u);
    }
}

// A retry that has ended makes room for the next one of the same call.
WEIR_TEST(RetryBudget, ACallHasOneRetryInFlightAtMost) {
    weir::retry_budget budget({.share = 0, .minimum = 1});
    weir::retry_policy policy({.max_attempts = 5, .backoff = doubling, .budget = &budget});
    flaky work(100);
    WEIR_EXPECT_THROW(policy.run(work), flaky_error);
    EXPECT_EQ(work.calls, 5);
    EXPECT_EQ(budget.stats().spent, 4u);
}

TEST(RetryBudget, BadOptionsAreNamed) {
    EXPECT_THROW(weir::retry_budget({.ratio = -1}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.ratio = std::nan("")}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.reserve_per_second = INFINITY}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.window = 0s}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.window = clock::duration::max()}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.tokens = 0}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.per_success = -1}), weir::invalid_argument);
    EXPECT_THROW(weir::retry_budget({.share = -0.1}), weir::invalid_argument);
}

}  // namespace
