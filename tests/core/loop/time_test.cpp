// SPDX-License-Identifier: MIT
// Sleeping, under simulated time.

#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;

weir::task<int> answer() {
    co_await weir::sleep(1h);
    co_return 42;
}

WEIR_TEST(Time, ASleepTakesNoRealTimeInATest) {
    const auto begin = weir::now();
    const int got = co_await answer();
    WEIR_ASSERT_EQ(got, 42);
    EXPECT_EQ(weir::now() - begin, 1h);
}

WEIR_TEST(Time, SleepsEndInTheOrderOfTheirDeadlines) {
    std::string order;
    auto sleeper = [&](weir::clock::duration delay, char name) -> weir::task<> {
        co_await weir::sleep(delay);
        order += name;
    };
    auto late = weir::spawn(sleeper, 2s, 'b');
    auto early = weir::spawn(sleeper, 1s, 'a');
    auto overdue = weir::spawn(sleeper, -1s, '0');
    co_await late;
    EXPECT_EQ(order, "0ab");
    EXPECT_TRUE(early.done() && overdue.done());
}

}  // namespace
