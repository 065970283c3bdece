// SPDX-License-Identifier: MIT
// Hedged calls with random attempts, failures, timeouts and cancellations, under many schedules.

#include "support.hpp"

#include <weir/flow/hedge.hpp>
#include <weir/weir.hpp>

namespace {

using namespace retry_tests;

// Attempts, cancellations and timeouts in any order: nothing is left running, nothing is counted twice.
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
                const std::unique_ptr<int, void (*)(int*)> here(&running, [](int* of) { --*of; });
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

}  // namespace
