// SPDX-License-Identifier: MIT
// Group C: the condition, and U-08.

#include "support/fifo_test.hpp"

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;

auto settle_all() {
    return weir::sleep(1ms);
}

task<> wait_and_note(weir::condition& condition, std::vector<int>& order, int number) {
    auto lock = co_await condition.lock();
    co_await condition.wait();
    EXPECT_TRUE(condition.locked());
    order.push_back(number);
}

FIFO_TEST(Semantics, C_01) {
    weir::condition condition;
    WEIR_EXPECT_THROW(condition.wait(), weir::invalid_state);
    EXPECT_THROW(condition.notify(), weir::invalid_state);
    EXPECT_THROW(condition.notify_all(), weir::invalid_state);
    auto never = [] { return false; };
    WEIR_EXPECT_THROW(condition.wait(never), weir::invalid_state);

    auto lock = co_await condition.lock();
    bool others_ran = false;
    auto other = [&]() -> task<> {
        others_ran = true;
        co_return;
    };
    auto later = weir::spawn(other);
    auto seven = [] { return 7; };
    const int value = co_await condition.wait(seven);
    EXPECT_EQ(value, 7);
    EXPECT_FALSE(others_ran);
    co_await later;
}

WEIR_TEST(Semantics, C_02) {
    weir::mutex shared;
    weir::condition first(shared);
    weir::condition second(shared);
    std::vector<int> order;
    auto one = weir::spawn(wait_and_note(first, order, 1));
    auto two = weir::spawn(wait_and_note(second, order, 2));
    co_await settle_all();
    EXPECT_FALSE(shared.locked());  // released while they wait
    {
        auto lock = co_await shared.lock();
        first.notify();
        second.notify();
        co_await settle_all();
        EXPECT_TRUE(order.empty());  // excluded, whichever condition it is
        EXPECT_TRUE(first.locked() && second.locked());
    }
    co_await one;
    co_await two;
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    EXPECT_FALSE(shared.locked());

    int inside = 0;
    auto hold = [&](weir::condition& condition) -> task<> {
        auto lock = co_await condition.lock();
        EXPECT_EQ(++inside, 1);
        co_await weir::sleep(1s);
        --inside;
    };
    auto a = weir::spawn(hold, std::ref(first));
    auto b = weir::spawn(hold, std::ref(second));
    co_await a;
    co_await b;
}

WEIR_TEST(Semantics, C_03) {
    weir::condition condition;
    std::vector<int> order;
    {
        auto lock = co_await condition.lock();
        condition.notify();  // no task waits: not remembered
    }
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 6; ++i) {
        waiting.push_back(weir::spawn(wait_and_note(condition, order, i)));
        co_await settle_all();
    }
    EXPECT_TRUE(order.empty());
    {
        auto lock = co_await condition.lock();
        condition.notify(0);
        condition.notify(2);
        co_await settle_all();
        EXPECT_TRUE(order.empty());  // until the notifier releases
    }
    co_await settle_all();
    EXPECT_EQ(order, (std::vector<int>{0, 1}));
    {
        auto lock = co_await condition.lock();
        condition.notify();
    }
    co_await settle_all();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
    {
        auto lock = co_await condition.lock();
        condition.notify(100);
    }
    co_await settle_all();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));

    order.clear();
    waiting.clear();
    for (int i = 0; i < 4; ++i) {
        waiting.push_back(weir::spawn(wait_and_note(condition, order, i)));
        co_await settle_all();
    }
    {
        auto lock = co_await condition.lock();
        condition.notify_all();
    }
    co_await settle_all();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

WEIR_TEST(Semantics, C_04) {
    weir::condition condition;
    int level = 0;
    int calls = 0;
    auto body = [&]() -> task<std::string> {
        auto lock = co_await condition.lock();
        auto high_enough = [&] {
            ++calls;
            return level >= 3 ? level : 0;
        };
        const int seen = co_await condition.wait(high_enough);
        co_return std::to_string(seen);
    };
    auto waiter = weir::spawn(body);
    for (int i = 1; i <= 3; ++i) {
        co_await settle_all();
        EXPECT_FALSE(waiter.done());
        EXPECT_EQ(calls, i);
        auto lock = co_await condition.lock();
        level = i;
        condition.notify();
    }
    const std::string text = co_await waiter;
    EXPECT_EQ(text, "3");
    EXPECT_EQ(calls, 4);
}

// Waits, and records how the wait ended and whether the lock was held then.
task<> watched(weir::condition& condition, bool& held_at_end, bool& returned) {
    auto lock = co_await condition.lock();
    struct at_end {
        weir::condition& condition;
        bool& held;
        ~at_end() { held = condition.locked(); }
    } note{condition, held_at_end};
    co_await condition.wait();
    returned = true;
}

WEIR_TEST(Semantics, C_05) {
    weir::condition condition;
    bool held = false;
    bool returned = false;
    auto waiter = weir::spawn(watched(condition, held, returned));
    co_await settle_all();
    waiter.cancel();
    co_await waiter.wait();  // the lock is free
    EXPECT_TRUE(waiter.cancelled());
    EXPECT_TRUE(held);
    EXPECT_FALSE(returned);
    EXPECT_FALSE(condition.locked());

    held = false;
    auto second = weir::spawn(watched(condition, held, returned));
    co_await settle_all();
    {
        auto lock = co_await condition.lock();
        second.cancel();
        co_await weir::sleep(1h);
        EXPECT_FALSE(second.done());  // as long as needed
        second.cancel();
        co_await weir::sleep(1h);
        EXPECT_FALSE(second.done());
    }
    co_await second.wait();
    EXPECT_TRUE(second.cancelled());
    EXPECT_TRUE(held);
    EXPECT_FALSE(returned);
    EXPECT_FALSE(condition.locked());
}

WEIR_TEST(Semantics, C_06) {
    weir::condition condition;
    bool held = false;
    bool returned = false;
    auto waiter = weir::spawn(watched(condition, held, returned));
    co_await settle_all();
    {
        auto lock = co_await condition.lock();
        condition.notify();
        co_await settle_all();  // competes for the lock now
        waiter.cancel();
        co_await settle_all();
        EXPECT_FALSE(waiter.done());
    }
    co_await waiter.wait();
    EXPECT_TRUE(held);
    EXPECT_FALSE(condition.locked());
}

WEIR_TEST(Semantics, C_07) {
    for (const bool lock_is_handed_over : {false, true}) {
        weir::condition condition;
        bool held = false;
        bool returned = false;
        auto waiter = weir::spawn(watched(condition, held, returned));
        co_await settle_all();
        auto lock = co_await condition.lock();
        condition.notify();
        if (lock_is_handed_over) {
            lock.unlock();  // it has the lock, and has not run yet
            waiter.cancel();
        } else {
            waiter.cancel();
            lock.unlock();
        }
        co_await waiter.wait();
        EXPECT_TRUE(waiter.cancelled());  // not swallowed
        EXPECT_TRUE(held);
        EXPECT_FALSE(returned);
        EXPECT_FALSE(condition.locked());
    }
}

WEIR_TEST(Semantics, C_08) {
    weir::condition condition;
    std::string reason;
    auto body = [&]() -> task<> {
        auto lock = co_await condition.lock();
        try {
            co_await weir::catchable(condition.wait());
        } catch (const weir::cancelled& stop) {
            reason = stop.reason();
            EXPECT_TRUE(condition.locked());
            throw;
        }
    };
    auto first = weir::spawn(body);
    co_await settle_all();
    first.cancel("enough");
    co_await first.wait();
    EXPECT_EQ(reason, "enough");
    EXPECT_TRUE(first.cancelled());

    auto second = weir::spawn(body);
    co_await settle_all();
    {
        auto lock = co_await condition.lock();
        second.cancel("early");
        co_await settle_all();
        second.cancel("latest");  // while it regains the lock
    }
    co_await second.wait();
    EXPECT_EQ(reason, "latest");
    std::string seen;
    try {
        co_await second;
    } catch (const weir::cancelled& stop) {
        seen = stop.reason();
    }
    EXPECT_EQ(seen, "latest");
    EXPECT_FALSE(condition.locked());
}

WEIR_TEST(Semantics, C_12) {
    weir::condition condition;
    std::vector<int> order;
    auto first = weir::spawn(wait_and_note(condition, order, 1));
    co_await settle_all();
    auto second = weir::spawn(wait_and_note(condition, order, 2));
    co_await settle_all();
    {
        auto lock = co_await condition.lock();
        first.cancel();  // not unwound yet
        condition.notify(1);
    }
    co_await settle_all();
    EXPECT_TRUE(first.cancelled());
    EXPECT_TRUE(second.done());
    EXPECT_EQ(order, std::vector<int>{2});
}

WEIR_TEST(Semantics, C_13) {
    weir::condition condition;
    bool timed_out = false;
    auto body = [&]() -> task<> {
        auto lock = co_await condition.lock();
        try {
            co_await weir::timeout(1s, condition.wait());
        } catch (const weir::timed_out&) {
            timed_out = true;
            EXPECT_TRUE(condition.locked());
        }
        lock.unlock();  // throws if it were not held
    };
    auto waiter = weir::spawn(body);
    co_await weir::sleep(500ms);
    {
        auto lock = co_await condition.lock();
        co_await weir::sleep(1h);
        EXPECT_FALSE(timed_out);
    }
    co_await waiter;
    EXPECT_TRUE(timed_out);
    EXPECT_FALSE(condition.locked());
}

// Ours: a cancelled waiter wakes another only if it takes a notification along that notify(n) gave
// it.
WEIR_TEST(Semantics, U_08) {
    weir::condition condition;
    std::vector<int> order;
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.push_back(weir::spawn(wait_and_note(condition, order, i)));
        co_await settle_all();
    }
    waiting[0].cancel();
    co_await settle_all();
    EXPECT_TRUE(waiting[0].cancelled());
    EXPECT_TRUE(order.empty());  // no task was woken
    EXPECT_FALSE(condition.locked());
    {
        auto lock = co_await condition.lock();
        condition.notify(1);
        waiting[1].cancel();  // notified and cancelled: passes it on
    }
    co_await settle_all();
    EXPECT_TRUE(waiting[1].cancelled());
    EXPECT_EQ(order, std::vector<int>{2});
    EXPECT_FALSE(condition.locked());
}

}  // namespace
