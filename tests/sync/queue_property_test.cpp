// SPDX-License-Identifier: MIT
// Queues under random use, cancellation and timeouts: each item put is got exactly once.

#include "support.hpp"

#include <memory>
#include <set>

namespace {

using namespace sync_tests;

struct crate {
    int label;
    std::unique_ptr<int> weight;  // move-only
    bool operator<(const crate& other) const { return label < other.label; }
};

// Producers put crates with all functions, consumers take them with all functions, both are
// cancelled and retry; then the queue is closed and every task ends.
template <class Queue>
task<> trade(bool is_fifo) {
    dice random;
    Queue queue(static_cast<std::size_t>(1 + random.below(3)));
    constexpr int producers = 3;
    constexpr int each = 12;
    std::multiset<int> got;
    std::vector<int> latest(producers, -1);
    auto note = [&](const crate& item) {
        EXPECT_NE(item.weight, nullptr);
        EXPECT_EQ(*item.weight, item.label);
        got.insert(item.label);
        if (is_fifo) {  // the order of each producer holds
            int& last = latest[static_cast<std::size_t>(item.label / 100)];
            EXPECT_LT(last, item.label);
            last = item.label;
        }
    };
    auto make = [](int label) { return crate{label, std::make_unique<int>(label)}; };
    auto put_one = [&](int label) -> task<> {
        switch (random.below(4)) {
            case 0: {
                bool in = false;
                while (!in) {
                    crate item = make(label);
                    in = queue.try_put(std::move(item));
                    if (!in) {
                        EXPECT_NE(item.weight, nullptr);  // NOLINT: untouched when refused
                        co_await weir::sleep(1ms);
                    }
                }
                break;
            }
            case 1: {
                bool in = false;
                while (!in) {
                    try {
                        co_await weir::timeout(random.milliseconds_below(3),
                                               queue.put(make(label)));
                        in = true;
                    } catch (const weir::timed_out&) {
                    }
                }
                break;
            }
            default:
                co_await queue.put(make(label));
        }
    };
    bool is_over = false;
    auto get_one = [&]() -> task<> {
        switch (random.below(5)) {
            case 0:
                if (auto item = queue.try_get()) {
                    note(*item);
                    queue.task_done();
                } else {
                    co_await weir::sleep(1ms);
                }
                break;
            case 1:
                try {
                    const crate item =
                        co_await weir::timeout(random.milliseconds_below(3), queue.get());
                    note(item);
                    queue.task_done();
                } catch (const weir::timed_out&) {
                } catch (const weir::queue_closed&) {
                    is_over = true;
                }
                break;
            case 2: {
                auto item = co_await queue.next();
                if (item.has_value()) {
                    note(*item);
                    queue.task_done();
                } else {
                    is_over = true;
                }
                break;
            }
            default: {
                auto item = co_await queue.take();
                if (!item) {
                    is_over = true;
                    co_return;
                }
                note(*item);
                co_await pause(random);  // a stop here finishes it too
            }
        }
    };
    std::vector<handle<void>> attempts(producers + 3);
    int producing = producers;
    auto producer = [&](int id) -> task<> {
        for (int i = 0; i < each; ++i) {
            auto work = [&, label = id * 100 + i] { return put_one(label); };
            co_await until_done(attempts[static_cast<std::size_t>(id)], work);
            co_await pause(random);
        }
        if (--producing == 0) {
            queue.close();
        }
    };
    auto consumer = [&](int id) -> task<> {
        while (!is_over) {
            co_await until_done(attempts[static_cast<std::size_t>(producers + id)], get_one);
        }
    };
    co_await weir::with_group([&](weir::task_group& group) -> task<> {
        for (int i = 0; i < producers; ++i) {
            group.spawn(producer, i);
            group.spawn(consumer, i);
        }
        group.spawn(chaos(random, attempts, 60));
        co_return;
    });
    co_await queue.join();
    EXPECT_EQ(got.size(), static_cast<std::size_t>(producers * each));
    EXPECT_EQ(std::set<int>(got.begin(), got.end()).size(), got.size());
    EXPECT_EQ(queue.size(), 0u);
}

TEST(QueueProperty, FirstInFirstOut) {
    expect_always([] { return trade<weir::queue<crate>>(true); });
}
TEST(QueueProperty, LastInFirstOut) {
    expect_always([] { return trade<weir::lifo_queue<crate>>(false); });
}
TEST(QueueProperty, Priority) {
    expect_always([] { return trade<weir::priority_queue<crate>>(false); });
}

// close_now at any moment: items are received or dropped, join() ends, and no task is left waiting.
TEST(QueueProperty, ClosedInTheMiddle) {
    expect_always([]() -> task<> {
        dice random;
        weir::queue<int> queue(static_cast<std::size_t>(1 + random.below(3)));
        int refused = 0;
        auto producer = [&]() -> task<> {
            try {
                for (int i = 0;; ++i) {
                    co_await queue.put(i);
                    co_await pause(random);
                }
            } catch (const weir::queue_closed&) {
                ++refused;
            }
        };
        auto consumer = [&]() -> task<> {
            while (auto item = co_await queue.take()) {
                co_await pause(random);
            }
        };
        co_await weir::with_group([&](weir::task_group& group) -> task<> {
            for (int i = 0; i < 3; ++i) {
                group.spawn(producer);
                group.spawn(consumer);
            }
            co_await weir::sleep(random.milliseconds_below(10));
            for (int i = random.below(5); i > 0; --i) {
                co_await weir::yield();
            }
            if (random.one_in(2)) {
                queue.close();
                co_await pause(random);
            }
            queue.close_now();
        });
        EXPECT_EQ(refused, 3);
        EXPECT_EQ(queue.size(), 0u);
        EXPECT_EQ(queue.unfinished(), 0u);
        co_await queue.join();
    });
}

// The last item is claimed by a getter that is then stopped: one that came after close() gets it.
TEST(QueueProperty, ClosedWithAClaimOnTheLastItem) {
    expect_always([]() -> task<> {
        dice random;
        weir::queue<int> queue(1);
        std::vector<int> got;
        int ended = 0;
        auto get = [&]() -> task<> {
            auto item = co_await queue.next();
            if (item.has_value()) {
                got.push_back(*item);
            } else {
                ++ended;
            }
        };
        auto first = weir::spawn(get);
        co_await settle_all();
        queue.put_now(7);
        queue.close();
        auto second = weir::spawn(get);
        auto third = weir::spawn(get);
        const bool is_cancelled = random.one_in(2);
        if (is_cancelled) {
            first.cancel();
        }
        co_await first.wait();
        co_await second;
        co_await third;
        EXPECT_EQ(got, std::vector<int>{7});
        EXPECT_EQ(ended, first.cancelled() ? 1 : 2);
    });
}

}  // namespace
