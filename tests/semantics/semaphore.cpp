// SPDX-License-Identifier: MIT
// Group S: the semaphores.

#include "support/fifo_test.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;

auto settle_all() {
    return weir::sleep(1ms);
}

// Takes a permit and keeps it.
task<> acquire_and_note(weir::semaphore& semaphore, std::vector<int>& order, int number) {
    auto permit = co_await semaphore.acquire();
    permit.detach();
    order.push_back(number);
}

WEIR_TEST(Semantics, S_01) {
    EXPECT_THROW(weir::semaphore(-1), weir::invalid_argument);
    EXPECT_THROW(weir::bounded_semaphore(-1), weir::invalid_argument);
    weir::semaphore empty(0);
    EXPECT_TRUE(empty.locked());
    EXPECT_EQ(empty.value(), 0);
    weir::semaphore two(2);
    EXPECT_FALSE(two.locked());
    auto a = co_await two.acquire();
    EXPECT_FALSE(two.locked());
    auto b = co_await two.acquire();
    EXPECT_TRUE(two.locked());
    std::vector<int> order;
    auto waiter = weir::spawn(acquire_and_note(two, order, 1));
    co_await settle_all();
    a.release();  // on its way to the waiter
    EXPECT_TRUE(two.locked());
    b.release();
    EXPECT_EQ(two.value(), 1);
    EXPECT_TRUE(two.locked()) << "the waiter has not resumed: newcomers wait behind it";
    EXPECT_FALSE(two.try_acquire().has_value());
    co_await waiter;
    EXPECT_EQ(two.value(), 1);
    EXPECT_FALSE(two.locked());
}

FIFO_TEST(Semantics, S_02) {
    weir::semaphore semaphore(1);
    bool others_ran = false;
    auto other = [&]() -> task<> {
        others_ran = true;
        co_return;
    };
    auto later = weir::spawn(other);
    auto permit = co_await semaphore.acquire();
    EXPECT_FALSE(others_ran);  // it did not suspend
    co_await later;

    std::vector<int> order;
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.push_back(weir::spawn(acquire_and_note(semaphore, order, i)));
        co_await settle_all();
    }
    semaphore.release(2);
    co_await settle_all();
    EXPECT_EQ(order, (std::vector<int>{0, 1}));
    semaphore.release();
    co_await settle_all();
    EXPECT_EQ(order.back(), 2);
    permit.release();
    co_await settle_all();
    EXPECT_EQ(order.back(), 3);
    semaphore.release(10);
    EXPECT_EQ(semaphore.value(), 10);  // more than it started with
}

WEIR_TEST(Semantics, S_03) {
    weir::semaphore semaphore(1);
    auto held = co_await semaphore.acquire();
    std::vector<int> order;
    std::vector<handle<void>> waiting;
    for (int i = 1; i <= 4; ++i) {
        waiting.push_back(weir::spawn(acquire_and_note(semaphore, order, i)));
        co_await settle_all();
    }
    waiting[0].cancel();
    waiting[1].cancel();
    held.release();
    co_await settle_all();
    EXPECT_EQ(order, std::vector<int>{3});
    EXPECT_TRUE(semaphore.locked());
    EXPECT_FALSE(waiting[3].done());
    waiting[3].cancel();
    semaphore.release();
    EXPECT_EQ(semaphore.value(), 1);
    co_await waiting[3].wait();
}

WEIR_TEST(Semantics, S_04) {
    weir::semaphore semaphore(0);
    std::vector<int> order;
    auto first = weir::spawn(acquire_and_note(semaphore, order, 1));
    co_await settle_all();
    auto second = weir::spawn(acquire_and_note(semaphore, order, 2));
    co_await settle_all();
    semaphore.release();
    first.cancel();  // after the grant
    co_await settle_all();
    EXPECT_TRUE(first.cancelled());
    EXPECT_EQ(order, std::vector<int>{2});

    auto third = weir::spawn(acquire_and_note(semaphore, order, 3));
    co_await settle_all();
    semaphore.release();
    third.cancel();
    co_await third.wait();
    EXPECT_TRUE(third.cancelled());
    EXPECT_EQ(semaphore.value(), 1);  // back to the counter
    auto permit = co_await semaphore.acquire();
    EXPECT_TRUE(static_cast<bool>(permit));
}

FIFO_TEST(Semantics, S_05) {
    weir::semaphore semaphore(1);
    std::vector<int> order;
    auto body = [&](int number) -> task<> {
        for (int round = 0; round < 3; ++round) {
            auto permit = co_await semaphore.acquire();
            order.push_back(number);
            co_await weir::yield();
            permit.release();  // and at once again
        }
    };
    std::vector<handle<void>> users;
    for (int i = 0; i < 3; ++i) {
        users.push_back(weir::spawn(body, i));
    }
    for (auto& each : users) {
        co_await each;
    }
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

FIFO_TEST(Semantics, S_06) {
    weir::semaphore semaphore(1);
    std::vector<int> order;
    auto c2 = [&]() -> task<> {
        auto permit = co_await semaphore.acquire();
        order.push_back(2);
        permit.release();
        auto again = co_await semaphore.acquire();
        order.push_back(4);
        again.detach();
    };
    auto first = weir::spawn(acquire_and_note(semaphore, order, 1));
    auto second = weir::spawn(c2);
    auto third = weir::spawn(acquire_and_note(semaphore, order, 3));
    co_await weir::yield();
    semaphore.release();
    semaphore.release();
    co_await first;
    co_await second;
    co_await third;
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(semaphore.value(), 0);
}

FIFO_TEST(Semantics, S_08) {
    weir::semaphore semaphore(0);
    std::vector<int> order;
    auto first = weir::spawn(acquire_and_note(semaphore, order, 1));
    co_await settle_all();
    semaphore.release(3);
    EXPECT_EQ(semaphore.value(), 2);
    EXPECT_TRUE(semaphore.locked()) << "the first was woken and has not resumed";
    const weir::spawn_options eager{.start = weir::start::eager};
    auto second = weir::spawn(acquire_and_note(semaphore, order, 2), eager);
    auto third = weir::spawn(acquire_and_note(semaphore, order, 3), eager);
    auto fourth = weir::spawn(acquire_and_note(semaphore, order, 4), eager);
    EXPECT_TRUE(order.empty()) << "newcomers queue behind it";
    auto later = [&]() -> task<> {
        order.push_back(0);
        co_return;
    };
    auto watcher = [&]() -> task<> {
        co_await first;
        order.push_back(9);
    };
    auto watching = weir::spawn(watcher(), eager);  // queued when the first has ended
    co_await first;
    auto queued_later = weir::spawn(later);
    co_await settle_all();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 9, 0}))
        << "it woke as many as permits allowed when it resumed, before anything later";
    EXPECT_EQ(semaphore.value(), 0);
    semaphore.release();
    co_await fourth;
    co_await second;
    co_await third;
    co_await watching;
    co_await queued_later;
    EXPECT_EQ(order.back(), 4);
}

WEIR_TEST(Semantics, S_07) {
    weir::semaphore semaphore(0);
    std::vector<int> order;
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 5; ++i) {
        waiting.push_back(weir::spawn(acquire_and_note(semaphore, order, i)));
        co_await settle_all();
    }
    waiting[0].cancel();
    for (int i = 0; i < 4; ++i) {
        semaphore.release();
        co_await settle_all();
    }
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(semaphore.value(), 0);
}

WEIR_TEST(Semantics, S_09) {
    weir::bounded_semaphore semaphore(2);
    EXPECT_THROW(semaphore.release(), weir::invalid_state);
    EXPECT_EQ(semaphore.value(), 2);
    auto permit = co_await semaphore.acquire();
    EXPECT_THROW(semaphore.release(2), weir::invalid_state);
    EXPECT_EQ(semaphore.value(), 1);
    permit.release();
    EXPECT_EQ(semaphore.value(), 2);
    EXPECT_THROW(permit.release(), weir::invalid_state);
    EXPECT_THROW(semaphore.release(-1), weir::invalid_argument);
}

WEIR_TEST(Semantics, S_10) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        std::mt19937 random(seed);
        const int permits = 1 + static_cast<int>(random() % 3);
        weir::bounded_semaphore semaphore(permits);
        int holders = 0;
        int most = 0;
        auto user = [&]() -> task<> {
            for (int round = 0; round < 10; ++round) {
                auto permit = co_await semaphore.acquire();
                struct count {
                    int& holders;
                    ~count() { --holders; }
                } counted{++holders};
                most = std::max(most, holders);
                co_await weir::sleep(std::chrono::milliseconds(random() % 3));
            }
        };
        std::vector<handle<void>> users;
        for (int i = 0; i < 10; ++i) {
            users.push_back(weir::spawn(user));
        }
        for (int i = 0; i < 20; ++i) {
            co_await weir::sleep(std::chrono::milliseconds(random() % 2));
            users[random() % users.size()].cancel();
        }
        for (auto& each : users) {
            co_await each.wait();
        }
        EXPECT_EQ(holders, 0);
        EXPECT_LE(most, permits);
        EXPECT_EQ(semaphore.value(), permits);
    }
}

}  // namespace
