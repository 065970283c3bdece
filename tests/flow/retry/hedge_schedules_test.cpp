// SPDX-License-Identifier: MIT
// Hedged calls with random attempts, failures, timeouts and cancellations, under many schedules.

#include "support.hpp"

#include <weir/flow/hedge.hpp>
#include <weir/weir.hpp>

namespace {

using namespace retry_tests;

// Attempts, cancellations and timeouts in any order: nothing is left running, nothing is counted
// twice.
TEST(HedgeSchedules, NothingIsLeftBehind) {
    expect_always(
        []() -> task<> {
            std::mt19937 random(static_cast<unsigned>(weir::testing::current_seed() * 31 + 7));
            weir::retry_budget budget(weir::in_flight_budget{.share = 1, .minimum = 2});
            weir::hedge_policy policy({.delay = 2ms,
                                       .max_hedges = 3,
                                       .replace_failed = random() % 2 == 0,
                                       .budget = &budget});
            int running = 0;
            auto attempt = [&running, &random]() -> task<int> {
                ++running;
                const std::unique_ptr<int, void (*)(int*)> here(&running,
                                                                [](int* count) { --*count; });
                co_await weir::sleep(std::chrono::milliseconds(random() % 6));
                if (random() % 3 == 0) {
                    throw flaky_error();
                }
                co_return 1;
            };
            auto caller = [&]() -> task<> {
                const outcome<int> ended = co_await weir::settle(
                    weir::timeout(std::chrono::milliseconds(random() % 12), policy.run(attempt)));
                EXPECT_FALSE(ended.is_cancelled());
            };
            std::vector<weir::handle<void>> callers;
            for (int i = 0; i < 6; ++i) {
                callers.push_back(weir::spawn(caller));
            }
            for (int i = 0; i < 3; ++i) {
                co_await weir::sleep(std::chrono::milliseconds(random() % 4));
                callers[random() % callers.size()].cancel();
            }
            for (const auto& each : callers) {
                co_await each.wait();
            }
            EXPECT_EQ(running, 0);
            EXPECT_EQ(policy.stats().stragglers, 0u);
            EXPECT_EQ(budget.stats().calls_in_flight, 0u);
            EXPECT_EQ(budget.stats().extra_in_flight, 0u);
        },
        400);
}

// Two attempts succeed at the same instant: the first to end is the winner, the other is not heard.
TEST(HedgeSchedules, OfTwoSuccessesAtOnceTheFirstCounts) {
    int won_by_hedge = 0;
    expect_always(
        [&won_by_hedge]() -> task<> {
            weir::hedge_policy policy({.delay = 100ms});
            int first = 0;
            auto attempt = [&first](int number) -> task<int> {
                co_await weir::sleep(number == 1 ? 200ms : 100ms);
                if (first == 0) {
                    first = number;
                }
                co_return number;
            };
            const int got = co_await policy.run(attempt);
            EXPECT_EQ(got, first);
            EXPECT_EQ(policy.stats().hedge_wins, got == 2 ? 1u : 0u);
            won_by_hedge += got == 2;
        },
        200);
    EXPECT_GT(won_by_hedge, 0);
    EXPECT_LT(won_by_hedge, 200);
}

// A straggler whose caller was stopped may end after the policy was destroyed.
TEST(HedgeSchedules, AStragglerOutlivesCallerAndPolicy) {
    expect_always(
        []() -> task<> {
            int checks = 0;
            int finished = 0;
            auto attempt = [&finished]() -> task<int> {
                const outcome<> ended = co_await weir::intercept(weir::sleep(1h));
                EXPECT_TRUE(ended.is_stop());  // and now it continues as if nothing had happened
                co_await weir::sleep(10s);
                ++finished;
                co_return 1;
            };
            {
                weir::retry_budget budget(weir::in_flight_budget{});
                weir::hedge_policy policy({.delay = 100ms,
                                           .accept_if =
                                               [&checks](const outcome_view&) {
                                                   ++checks;
                                                   return true;
                                               },
                                           .budget = &budget});
                const auto caller = weir::spawn(policy.run(attempt));
                co_await weir::sleep(1s);
                caller.cancel();
                co_await caller.wait();
                EXPECT_TRUE(caller.cancelled());
                EXPECT_EQ(policy.stats().stragglers, 2u);
                EXPECT_EQ(budget.stats().calls_in_flight, 0u);
                EXPECT_EQ(budget.stats().extra_in_flight, 0u);
            }
            co_await weir::sleep(1min);
            EXPECT_EQ(finished, 2);
            EXPECT_EQ(checks, 0);
        },
        50);
}

}  // namespace
