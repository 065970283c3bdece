// SPDX-License-Identifier: MIT
#include <weir/base/idle.hpp>
#include <weir/testing/testing.hpp>

#include <string>

namespace {

using namespace std::chrono_literals;

weir::task<> until_idle(std::string& order, char name) {
    co_await weir::detail::idle_operation();
    order += name;
    co_await weir::yield();
    order += '.';
}

WEIR_TEST(Idle, ComesAfterEverythingThatIsReady) {
    std::string order;
    auto idle = weir::spawn(until_idle(order, 'i'));
    auto busy = weir::spawn([&]() -> weir::task<> {
        for (int turn = 0; turn < 3; ++turn) {
            co_await weir::yield();
            order += 'b';
        }
    });
    co_await busy;
    co_await idle;
    EXPECT_EQ(order, "bbbi.");
}

WEIR_TEST(Idle, ComesBeforeTimeMovesAndOneAtATime) {
    const auto begin = weir::now();
    std::string order;
    auto timer = weir::spawn([&]() -> weir::task<> {
        co_await weir::sleep(1ns);
        order += 't';
    });
    auto first = weir::spawn(until_idle(order, '1'));
    auto second = weir::spawn(until_idle(order, '2'));
    co_await first;
    co_await second;
    EXPECT_EQ(weir::now(), begin);
    EXPECT_TRUE(order == "1.2." || order == "2.1.") << order;
    co_await timer;
    EXPECT_EQ(order.back(), 't');
}

WEIR_TEST(Idle, ACancelledOneLeaves) {
    std::string order;
    auto cancelled = weir::spawn(until_idle(order, 'c'));
    co_await weir::yield();
    cancelled.cancel();
    co_await cancelled.wait();
    co_await weir::detail::idle_operation();
    EXPECT_EQ(order, "");
}

}  // namespace
