// SPDX-License-Identifier: MIT
// Tasks: awaited once, as temporaries or moved.

#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;

weir::task<int> answer() {
    co_await weir::sleep(1h);
    co_return 42;
}

WEIR_TEST(Task, OperationsAndBoundariesMayBeTemporaries) {
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::sleep(1h)), weir::timed_out);
    const auto settled = co_await weir::settle(weir::timeout(1s, weir::shield(weir::sleep(1ms))));
    EXPECT_TRUE(settled.has_value());
    const auto started = weir::spawn(answer);
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::shield(started)), weir::timed_out);
    const int got = co_await weir::timeout(2h, started);
    EXPECT_EQ(got, 42);
}

WEIR_TEST(Task, IsLazyAndConsumedOnce) {
    bool ran = false;
    auto work = [&]() -> weir::task<int> {
        ran = true;
        co_return 1;
    };
    weir::task<int> made = work();
    EXPECT_TRUE(made.valid());
    EXPECT_FALSE(ran);
    const int got = co_await std::move(made);
    EXPECT_EQ(got, 1);
    EXPECT_TRUE(ran);
    EXPECT_FALSE(made.valid());  // NOLINT: the moved-from state is part of the contract
    WEIR_EXPECT_THROW(std::move(made), weir::invalid_state);
}

}  // namespace
