// SPDX-License-Identifier: MIT
// Moving simulated time from inside a test.

#include <weir/testing/testing.hpp>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

WEIR_TEST(Clock, SettleAllLetsEverythingRunAndTimeStand) {
    int steps = 0;
    auto worker = [&steps]() -> weir::task<> {
        for (int left = 10; left > 0; --left) {
            co_await weir::yield();
            ++steps;
        }
        co_await weir::sleep(1s);
        ++steps;
    };
    auto handle = weir::spawn(worker);
    const auto begin = weir::now();
    co_await weir::testing::settle_all();
    EXPECT_EQ(steps, 10);
    EXPECT_EQ(weir::now(), begin);
    co_await weir::testing::advance(999ms);
    EXPECT_EQ(steps, 10);
    co_await weir::testing::advance(1ms);
    EXPECT_EQ(steps, 11);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_TRUE(handle.done());
}

WEIR_TEST(Clock, SeveralMaySettle) {
    int settled = 0;
    auto settler = [&settled]() -> weir::task<> {
        co_await weir::testing::settle_all();
        ++settled;
    };
    auto stopped = weir::spawn(settler);
    auto first = weir::spawn(settler);
    auto second = weir::spawn(settler);
    co_await weir::yield();
    stopped.cancel();
    co_await stopped.wait();
    co_await first;
    co_await second;
    EXPECT_EQ(settled, 2);
}

}  // namespace
