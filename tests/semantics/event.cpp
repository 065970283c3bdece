// SPDX-License-Identifier: MIT
// Group E: the event.

#include "support/fifo_test.hpp"

#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;

task<> wait_and_note(weir::event& event, std::vector<int>& order, int number) {
    co_await event.wait();
    order.push_back(number);
}

FIFO_TEST(Semantics, E_01) {
    weir::event event;
    std::vector<int> order;
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.push_back(weir::spawn(wait_and_note(event, order, i)));
    }
    co_await weir::sleep(1ms);
    EXPECT_TRUE(order.empty());
    event.set();
    co_await event.wait();  // does not suspend: ahead of those not yet resumed
    order.push_back(100);
    for (auto& each : waiting) {
        co_await each;
    }
    EXPECT_EQ(order, (std::vector<int>{100, 0, 1, 2, 3}));
}

WEIR_TEST(Semantics, E_02) {
    weir::event event;
    std::vector<int> order;
    auto first = weir::spawn(wait_and_note(event, order, 1));
    co_await weir::sleep(1ms);
    event.set();
    event.set();
    event.clear();  // the woken task has seen it
    EXPECT_FALSE(event.is_set());
    auto second = weir::spawn(wait_and_note(event, order, 2));
    co_await weir::sleep(1ms);
    EXPECT_EQ(order, std::vector<int>{1});
    EXPECT_TRUE(first.done());
    EXPECT_FALSE(second.done());
    event.set();
    EXPECT_TRUE(event.is_set());
    co_await second;
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

WEIR_TEST(Semantics, E_04) {
    weir::event event;
    std::vector<int> order;
    auto gone = weir::spawn(wait_and_note(event, order, 0));
    co_await weir::sleep(1ms);
    gone.cancel();
    co_await gone.wait();
    EXPECT_TRUE(gone.cancelled());

    for (const bool set_first : {true, false}) {
        order.clear();
        event.clear();
        auto one = weir::spawn(wait_and_note(event, order, 1));
        auto two = weir::spawn(wait_and_note(event, order, 2));
        auto three = weir::spawn(wait_and_note(event, order, 3));
        co_await weir::sleep(1ms);
        if (set_first) {
            event.set();
            two.cancel();
        } else {
            two.cancel();
            event.set();
        }
        co_await weir::sleep(1ms);
        EXPECT_TRUE(two.cancelled());
        EXPECT_TRUE(one.done() && !one.cancelled());
        EXPECT_TRUE(three.done() && !three.cancelled());
        EXPECT_EQ(order.size(), 2u);
    }
}

}  // namespace
