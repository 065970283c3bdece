// SPDX-License-Identifier: MIT
// Group L: the lock, and U-01.

#include "support/fifo_test.hpp"

#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;

// In simulated time: everything that can happen has happened.
auto settle_all() {
    return weir::sleep(1ms);
}

task<> acquire_and_note(weir::mutex& mutex, std::vector<int>& order, int number) {
    co_await mutex.acquire();
    order.push_back(number);
}

WEIR_TEST(Semantics, L_01) {
    weir::mutex mutex;
    std::vector<int> order;
    co_await mutex.acquire();
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 5; ++i) {
        waiting.push_back(weir::spawn(acquire_and_note(mutex, order, i)));
        co_await settle_all();
    }
    EXPECT_TRUE(order.empty());
    for (int i = 0; i < 5; ++i) {
        mutex.release();
        co_await settle_all();
        WEIR_ASSERT_EQ(order.size(), static_cast<std::size_t>(i) + 1);  // one per release
        EXPECT_EQ(order.back(), i);
    }
    EXPECT_TRUE(mutex.locked());
    mutex.release();
    EXPECT_FALSE(mutex.locked());
}

FIFO_TEST(Semantics, L_02) {
    weir::mutex mutex;
    bool got_it = false;
    bool went_on = false;
    auto body = [&]() -> task<> {
        weir::current_task().cancel();  // pending, and delivered at the next suspension only
        auto lock = co_await mutex.lock();
        got_it = true;
        co_await weir::yield();
        went_on = true;
    };
    auto cancelled = weir::spawn(body);
    co_await cancelled.wait();
    EXPECT_TRUE(got_it);
    EXPECT_FALSE(went_on);
    EXPECT_TRUE(cancelled.cancelled());
    EXPECT_FALSE(mutex.locked());  // the guard released on the stop

    bool others_ran = false;
    auto other = [&]() -> task<> {
        others_ran = true;
        co_return;
    };
    auto later = weir::spawn(other);
    {
        auto lock = co_await mutex.lock();
        EXPECT_FALSE(others_ran);  // it did not suspend
    }
    co_await later;

    auto throws = [&]() -> task<> {
        auto lock = co_await mutex.lock();
        throw std::runtime_error("inside");
    };
    WEIR_EXPECT_THROW(throws(), std::runtime_error);
    EXPECT_FALSE(mutex.locked());
    auto returns = [&]() -> task<int> {
        auto lock = co_await mutex.lock();
        co_return 1;
    };
    const int one = co_await returns();
    EXPECT_EQ(one, 1);
    EXPECT_FALSE(mutex.locked());
    {
        auto lock = co_await mutex.lock();
        EXPECT_TRUE(mutex.locked());
        lock.unlock();
        EXPECT_FALSE(mutex.locked());
        EXPECT_THROW(lock.unlock(), weir::invalid_state);
    }
}

WEIR_TEST(Semantics, L_03) {
    weir::mutex mutex;
    EXPECT_THROW(mutex.release(), weir::invalid_state);
    auto acquire = [&]() -> task<> { co_await mutex.acquire(); };
    auto release = [&]() -> task<> {
        mutex.release();
        co_return;
    };
    co_await weir::spawn(acquire);
    EXPECT_TRUE(mutex.locked());
    co_await weir::spawn(release);  // another task
    EXPECT_FALSE(mutex.locked());

    auto twice = [&]() -> task<> {
        co_await mutex.acquire();
        co_await mutex.acquire();
    };
    weir::testing::allow_report(weir::report_kind::deadlock);  // in debug mode
    auto stuck = weir::spawn(twice);
    co_await settle_all();
    EXPECT_FALSE(stuck.done());
    mutex.release();
    co_await settle_all();
    EXPECT_TRUE(stuck.done());
    EXPECT_TRUE(mutex.locked());
    mutex.release();
    EXPECT_THROW(mutex.release(), weir::invalid_state);
}

WEIR_TEST(Semantics, L_04) {
    weir::mutex mutex;
    std::vector<int> order;
    co_await mutex.acquire();
    auto waiter = weir::spawn(acquire_and_note(mutex, order, 1));
    co_await settle_all();
    waiter.cancel();
    co_await waiter.wait();
    EXPECT_TRUE(waiter.cancelled());
    EXPECT_TRUE(mutex.locked());
    mutex.release();
    EXPECT_FALSE(mutex.locked());
    EXPECT_TRUE(order.empty());
    EXPECT_TRUE(mutex.try_lock().has_value());
}

WEIR_TEST(Semantics, L_05) {
    weir::mutex mutex;
    std::vector<int> order;
    co_await mutex.acquire();
    auto first = weir::spawn(acquire_and_note(mutex, order, 1));
    co_await settle_all();
    auto second = weir::spawn(acquire_and_note(mutex, order, 2));
    co_await settle_all();
    first.cancel();
    mutex.release();  // the first has not been unwound yet
    co_await settle_all();
    EXPECT_TRUE(first.cancelled());
    EXPECT_TRUE(second.done());
    EXPECT_EQ(order, std::vector<int>{2});
    mutex.release();
    EXPECT_FALSE(mutex.locked());
}

WEIR_TEST(Semantics, L_06) {
    for (const bool release_first : {true, false}) {
        weir::mutex mutex;
        std::vector<int> order;
        co_await mutex.acquire();
        std::vector<handle<void>> waiting;
        for (int i = 0; i < 3; ++i) {
            waiting.push_back(weir::spawn(acquire_and_note(mutex, order, i)));
            co_await settle_all();
        }
        if (release_first) {
            mutex.release();  // granted to the first, which is cancelled before it runs
            waiting[0].cancel();
        } else {
            waiting[0].cancel();
            mutex.release();
        }
        co_await settle_all();
        EXPECT_TRUE(waiting[0].cancelled());
        EXPECT_EQ(order, std::vector<int>{1});
        EXPECT_TRUE(mutex.locked());
        mutex.release();
        co_await settle_all();
        EXPECT_EQ(order, (std::vector<int>{1, 2}));
        mutex.release();
        EXPECT_FALSE(mutex.locked());
    }
}

WEIR_TEST(Semantics, L_09) {
    weir::mutex mutex;
    std::vector<int> order;
    co_await mutex.acquire();
    std::vector<handle<void>> waiting;
    for (int i = 0; i < 8; ++i) {
        waiting.push_back(weir::spawn(acquire_and_note(mutex, order, i)));
        co_await settle_all();
    }
    for (const int dead : {0, 1, 3, 6}) {
        waiting[static_cast<std::size_t>(dead)].cancel();
    }
    for (int i = 0; i < 4; ++i) {
        mutex.release();
        co_await settle_all();
    }
    EXPECT_EQ(order, (std::vector<int>{2, 4, 5, 7}));
    mutex.release();
    EXPECT_FALSE(mutex.locked());
}

weir::loop_options simulated() {
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    return options;
}

TEST(Semantics, L_10) {
    weir::mutex mutex;  // before there is any loop
    auto block_once = [&]() -> task<> {
        co_await mutex.acquire();
        auto other = [&]() -> task<> { co_await mutex.acquire(); };
        auto waiter = weir::spawn(other);
        co_await settle_all();
        mutex.release();
        co_await waiter;
        mutex.release();
    };
    auto use_unblocked = [&]() -> task<> {
        co_await mutex.acquire();
        mutex.release();
    };
    weir::run(use_unblocked(), simulated());
    weir::run(use_unblocked(), simulated());
    weir::run(block_once(), simulated());
    EXPECT_THROW(weir::run(block_once(), simulated()),
                 weir::invalid_state);  // although that loop is gone
    EXPECT_FALSE(mutex.locked());
    weir::run(use_unblocked(), simulated());

    // Two loops at a time, and the other primitives.
    weir::event event;
    weir::semaphore semaphore(0);
    weir::queue<int> queue(1);
    weir::barrier barrier(2);
    weir::condition condition;
    auto block_on_all = [&]() -> task<int> {
        int refusals = 0;
        const auto count = [&](auto attempt) -> task<> {
            try {
                co_await weir::timeout(1s, attempt());
            } catch (const weir::timed_out&) {
            } catch (const weir::invalid_state&) {
                ++refusals;
            }
        };
        auto on_event = [&]() -> task<> { co_await event.wait(); };
        auto on_semaphore = [&]() -> task<> { (void)co_await semaphore.acquire(); };
        auto on_queue = [&]() -> task<> { (void)co_await queue.get(); };
        auto on_barrier = [&]() -> task<> { (void)co_await barrier.wait(); };
        auto on_condition = [&]() -> task<> {
            auto lock = co_await condition.lock();
            co_await condition.wait();
        };
        co_await count(on_event);
        co_await count(on_semaphore);
        co_await count(on_queue);
        co_await count(on_barrier);
        co_await count(on_condition);
        co_return refusals;
    };
    EXPECT_EQ(weir::run(block_on_all(), simulated()), 0);
    EXPECT_EQ(weir::run(block_on_all(), simulated()), 5);
    EXPECT_FALSE(condition.locked());
}

WEIR_TEST(Semantics, U_01) {
    weir::mutex mutex;
    std::vector<int> order;
    co_await mutex.acquire();
    auto waiter = weir::spawn(acquire_and_note(mutex, order, 1));
    co_await settle_all();
    mutex.release();
    EXPECT_TRUE(mutex.locked());  // on its way to the waiter: an acquire would wait
    EXPECT_FALSE(mutex.try_lock().has_value());
    EXPECT_TRUE(order.empty());
    co_await waiter;
    mutex.release();
    EXPECT_FALSE(mutex.locked());

    weir::semaphore semaphore(0);
    auto use = [&]() -> task<> { (void)co_await semaphore.acquire(); };
    auto user = weir::spawn(use);
    co_await settle_all();
    semaphore.release();
    EXPECT_TRUE(semaphore.locked());
    EXPECT_FALSE(semaphore.try_acquire().has_value());
    co_await user;
    EXPECT_FALSE(semaphore.locked());
}

}  // namespace
