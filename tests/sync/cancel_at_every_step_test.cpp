// SPDX-License-Identifier: MIT
// A cancel at every step of a program that uses all primitives.

#include "support.hpp"

namespace {

using namespace sync_tests;

// A consumer is cancelled after 0, 1, 2... turns of the loop; the rest must come out right each
// time.
TEST(SyncRace, CancelAtEveryStep) {
    for (int steps = 0; steps < 60; ++steps) {
        expect_always(
            [steps]() -> task<> {
                weir::queue<int> queue(2);
                weir::semaphore slots(1);
                weir::mutex mutex;
                std::vector<int> got;
                auto consumer = [&]() -> task<> {
                    for (;;) {
                        auto permit = co_await slots.acquire();
                        auto item = co_await queue.next();
                        if (!item.has_value()) {
                            co_return;
                        }
                        got.push_back(*item);  // in the step that took it
                        auto lock = co_await mutex.lock();
                        co_await weir::yield();
                    }
                };
                auto producer = [&]() -> task<> {
                    for (int i = 0; i < 10; ++i) {
                        co_await queue.put(i);
                    }
                    queue.close();
                };
                auto victim = weir::spawn(consumer);
                auto other = weir::spawn(consumer);
                auto source = weir::spawn(producer);
                for (int i = 0; i < steps; ++i) {
                    co_await weir::yield();
                }
                victim.cancel();
                co_await victim.wait();
                co_await other;
                co_await source;
                EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
                EXPECT_EQ(slots.value(), 1);
                EXPECT_FALSE(mutex.locked());
            },
            5);
    }
}

}  // namespace
