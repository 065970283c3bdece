// SPDX-License-Identifier: MIT
// Group Q: the queues, and U-04.

#include <weir/testing/testing.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::handle;
using weir::task;
using numbers = std::vector<int>;

auto settle_all() {
    return weir::sleep(1ms);
}

template <class Queue>
task<> get_and_note(Queue& queue, numbers& got) {
    const int item = co_await queue.get();
    got.push_back(item);
}

template <class Queue>
task<> put_one(Queue& queue, int item) {
    co_await queue.put(item);
}

template <class Queue>
numbers drain(Queue& queue) {
    numbers items;
    while (auto item = queue.try_get()) {
        items.push_back(*item);
    }
    return items;
}

WEIR_TEST(Semantics, Q_01) {
    weir::queue<int> fifo(10);
    weir::lifo_queue<int> lifo(10);
    weir::priority_queue<int> lowest(10);
    weir::priority_queue<int, std::greater<int>> highest(10);
    for (const int item : {3, 1, 2}) {
        co_await fifo.put(item);
        co_await lifo.put(item);
        co_await lowest.put(item);
        co_await highest.put(item);
    }
    EXPECT_EQ(drain(fifo), (numbers{3, 1, 2}));
    EXPECT_EQ(drain(lifo), (numbers{2, 1, 3}));
    EXPECT_EQ(drain(lowest), (numbers{1, 2, 3}));
    EXPECT_EQ(drain(highest), (numbers{3, 2, 1}));

    numbers got;
    auto getter = weir::spawn(get_and_note(lowest, got));
    co_await settle_all();
    lowest.put_now(5);  // wakes the getter
    lowest.put_now(1);  // is ahead when it resumes
    co_await getter;
    EXPECT_EQ(got, numbers{1});
    got.clear();
    auto other = weir::spawn(get_and_note(lifo, got));
    co_await settle_all();
    lifo.put_now(1);
    lifo.put_now(2);
    co_await other;
    EXPECT_EQ(got, numbers{2});
    (void)drain(lifo);
    (void)drain(lowest);
}

WEIR_TEST(Semantics, Q_02) {
    EXPECT_THROW(weir::queue<int>(0), weir::invalid_argument);
    EXPECT_THROW(weir::queue<int>(static_cast<std::size_t>(-1)), weir::invalid_argument);
    ::testing::Test::RecordProperty(
        "deviates",
        "a capacity of 0 is refused: a queue without a bound is asked for by unbounded()");
    auto endless = weir::queue<int>::unbounded();
    for (int i = 0; i < 10000; ++i) {
        co_await endless.put(i);
    }
    EXPECT_FALSE(endless.full());
    EXPECT_EQ(endless.size(), 10000u);

    weir::queue<int> queue(2);
    EXPECT_EQ(queue.capacity(), 2u);
    co_await queue.put(0);
    EXPECT_FALSE(queue.full());
    co_await queue.put(1);
    EXPECT_TRUE(queue.full());
    std::vector<handle<void>> putters;
    for (int i = 2; i < 6; ++i) {
        putters.push_back(weir::spawn(put_one<weir::queue<int>>, std::ref(queue), i));
        co_await settle_all();
        EXPECT_FALSE(putters.back().done());
    }
    EXPECT_EQ(queue.size(), 2u);
    numbers got;
    for (int i = 0; i < 6; ++i) {
        const int item = co_await queue.get();
        got.push_back(item);
        co_await settle_all();
    }
    EXPECT_EQ(got, (numbers{0, 1, 2, 3, 4, 5}));
}

WEIR_TEST(Semantics, Q_03) {
    weir::queue<int> queue(1);
    EXPECT_THROW((void)queue.get_now(), weir::queue_empty);
    EXPECT_FALSE(queue.try_get().has_value());
    EXPECT_EQ(queue.unfinished(), 0u);
    queue.put_now(1);
    EXPECT_THROW(queue.put_now(2), weir::queue_full);
    EXPECT_FALSE(queue.try_put(2));
    EXPECT_EQ(queue.size(), 1u);
    EXPECT_EQ(queue.unfinished(), 1u);
    EXPECT_EQ(queue.get_now(), 1);
    EXPECT_THROW((void)queue.get_now(), weir::queue_empty);
    co_return;
}

WEIR_TEST(Semantics, Q_04) {
    weir::queue<int> narrow(1);
    numbers got;
    auto producer = [&]() -> task<> {
        for (int i = 0; i < 100; ++i) {
            co_await narrow.put(i);
        }
        narrow.close();
    };
    auto consumer = [&]() -> task<> {
        while (auto item = co_await narrow.next()) {
            got.push_back(*item);
        }
    };
    auto a = weir::spawn(producer);
    auto b = weir::spawn(consumer);
    co_await a;
    co_await b;
    WEIR_ASSERT_EQ(got.size(), 100u);
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));

    weir::queue<int> queue(3);
    for (int i = 0; i < 3; ++i) {
        queue.put_now(i);
    }
    std::vector<handle<void>> putters;
    for (int i = 3; i < 7; ++i) {
        putters.push_back(weir::spawn(put_one<weir::queue<int>>, std::ref(queue), i));
        co_await settle_all();
    }
    (void)queue.get_now();
    (void)queue.get_now();
    (void)queue.get_now();
    co_await settle_all();
    EXPECT_EQ(std::count_if(putters.begin(), putters.end(), [](auto& each) { return each.done(); }),
              3);
    EXPECT_EQ(queue.size(), 3u);
    (void)queue.get_now();
    co_await putters.back();
}

WEIR_TEST(Semantics, Q_05) {
    weir::queue<int> queue(5);
    numbers got;
    auto dead = weir::spawn(get_and_note(queue, got));
    co_await settle_all();
    auto live = weir::spawn(get_and_note(queue, got));
    co_await settle_all();
    dead.cancel();
    queue.put_now(1);  // before the first has been unwound
    co_await live;
    EXPECT_EQ(got, numbers{1});
    co_await dead.wait();
    EXPECT_TRUE(dead.cancelled());

    for (int i = 0; i < 50; ++i) {
        WEIR_EXPECT_THROW(weir::timeout(1ms, queue.get()), weir::timed_out);
    }
    queue.put_now(2);
    EXPECT_FALSE(queue.empty());  // no task has a claim on it
    EXPECT_EQ(queue.get_now(), 2);
}

WEIR_TEST(Semantics, Q_06) {
    weir::queue<int> queue(5);
    numbers got;
    auto reader = weir::spawn(get_and_note(queue, got));
    co_await settle_all();
    queue.put_now(1);
    queue.put_now(2);
    reader.cancel();  // after 1 woke it
    co_await reader.wait();
    EXPECT_TRUE(reader.cancelled());
    EXPECT_EQ(queue.size(), 2u);
    EXPECT_EQ(queue.get_now(), 1);
    EXPECT_EQ(queue.get_now(), 2);
}

WEIR_TEST(Semantics, Q_07) {
    weir::queue<int> queue(5);
    numbers got;
    std::vector<handle<void>> readers;
    for (int i = 0; i < 4; ++i) {
        readers.push_back(weir::spawn(get_and_note(queue, got)));
        co_await settle_all();
    }
    queue.put_now(1);
    queue.put_now(2);
    readers[0].cancel();
    readers[1].cancel();
    co_await readers[2];
    co_await readers[3];
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, (numbers{1, 2}));
    EXPECT_TRUE(readers[0].cancelled());
    EXPECT_TRUE(readers[1].cancelled());
}

WEIR_TEST(Semantics, Q_08) {
    weir::queue<int> queue(1);
    queue.put_now(0);
    auto dead = weir::spawn(put_one<weir::queue<int>>, std::ref(queue), 1);
    co_await settle_all();
    auto live = weir::spawn(put_one<weir::queue<int>>, std::ref(queue), 2);
    co_await settle_all();
    dead.cancel();
    co_await dead.wait();
    EXPECT_EQ(queue.unfinished(), 1u);
    EXPECT_EQ(queue.get_now(), 0);
    co_await live;
    EXPECT_EQ(queue.get_now(), 2);
    EXPECT_EQ(queue.unfinished(), 2u);

    queue.put_now(3);
    auto woken = weir::spawn(put_one<weir::queue<int>>, std::ref(queue), 4);
    co_await settle_all();
    auto next = weir::spawn(put_one<weir::queue<int>>, std::ref(queue), 5);
    co_await settle_all();
    EXPECT_EQ(queue.get_now(), 3);
    woken.cancel();  // a place was its own already
    co_await next;
    EXPECT_TRUE(woken.cancelled());
    EXPECT_EQ(queue.get_now(), 5);
    EXPECT_EQ(queue.unfinished(), 4u);
}

template <class Queue>
task<> check_join() {
    Queue queue(10);
    co_await queue.join();  // no unfinished items
    EXPECT_THROW(queue.task_done(), weir::invalid_state);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 3; ++i) {
            queue.put_now(i);
        }
        auto join = [&]() -> task<> { co_await queue.join(); };
        auto first = weir::spawn(join);
        auto second = weir::spawn(join);
        for (int i = 0; i < 3; ++i) {
            co_await settle_all();
            EXPECT_FALSE(first.done() || second.done());
            (void)queue.get_now();
            co_await settle_all();
            EXPECT_FALSE(first.done() || second.done());
            queue.task_done();
        }
        co_await first;
        co_await second;
    }
    EXPECT_THROW(queue.task_done(), weir::invalid_state);

    queue.put_now(1);
    {
        auto item = co_await queue.take();
        EXPECT_EQ(*item, 1);
        EXPECT_EQ(queue.unfinished(), 1u);
    }
    EXPECT_EQ(queue.unfinished(), 0u);
    co_await queue.join();
}

WEIR_TEST(Semantics, Q_11) {
    co_await check_join<weir::queue<int>>();
}

template <class Queue>
task<> check_close() {
    {
        Queue queue(1);  // empty: blocked getters
        auto get = [&]() -> task<> { (void)co_await queue.get(); };
        auto next = [&]() -> task<bool> {
            auto item = co_await queue.next();
            co_return item.has_value();
        };
        auto getter = weir::spawn(get);
        auto looper = weir::spawn(next);
        co_await settle_all();
        queue.close();
        EXPECT_TRUE(queue.is_closed());
        WEIR_EXPECT_THROW(getter, weir::queue_closed);
        const bool has_item = co_await looper;
        EXPECT_FALSE(has_item);
        WEIR_EXPECT_THROW(queue.put(1), weir::queue_closed);
        WEIR_EXPECT_THROW(queue.get(), weir::queue_closed);
        const bool taken = static_cast<bool>(co_await queue.take());
        EXPECT_FALSE(taken);
    }
    {
        Queue queue(2);  // full: a blocked putter
        queue.put_now(1);
        queue.put_now(2);
        auto put = [&]() -> task<> { co_await queue.put(3); };
        auto putter = weir::spawn(put);
        auto join = [&]() -> task<> { co_await queue.join(); };
        auto joiner = weir::spawn(join);
        co_await settle_all();
        queue.close();
        WEIR_EXPECT_THROW(putter, weir::queue_closed);
        WEIR_EXPECT_THROW(queue.put(4), weir::queue_closed);
        const int a = co_await queue.get();
        queue.task_done();
        auto b = co_await queue.next();
        EXPECT_EQ(a + *b, 3);
        WEIR_EXPECT_THROW(queue.get(), weir::queue_closed);
        co_await settle_all();
        EXPECT_FALSE(joiner.done());  // still waits for the unfinished items
        queue.task_done();
        co_await joiner;
    }
}

WEIR_TEST(Semantics, Q_12) {
    co_await check_close<weir::queue<int>>();
}

template <class Queue>
task<> check_close_now() {
    Queue queue(2);
    queue.put_now(1);
    queue.put_now(2);
    auto put = [&]() -> task<> { co_await queue.put(3); };
    auto putter = weir::spawn(put);
    auto join = [&]() -> task<> { co_await queue.join(); };
    auto joiner = weir::spawn(join);
    co_await settle_all();
    queue.close_now();
    EXPECT_EQ(queue.size(), 0u);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.unfinished(), 0u);
    WEIR_EXPECT_THROW(putter, weir::queue_closed);
    co_await joiner;
    WEIR_EXPECT_THROW(queue.get(), weir::queue_closed);
    WEIR_EXPECT_THROW(queue.put(1), weir::queue_closed);

    Queue empty(1);
    auto get = [&]() -> task<> { (void)co_await empty.get(); };
    auto waits = weir::spawn(get);
    co_await settle_all();
    auto woken = weir::spawn(get);
    co_await settle_all();
    empty.put_now(1);  // the first has a claim on it
    empty.close_now();
    WEIR_EXPECT_THROW(waits, weir::queue_closed);
    WEIR_EXPECT_THROW(woken, weir::queue_closed);
    EXPECT_EQ(empty.unfinished(), 0u);
}

WEIR_TEST(Semantics, Q_13) {
    co_await check_close_now<weir::queue<int>>();
}

template <class Queue>
task<> check_close_now_unfinished() {
    Queue queue(3);
    queue.put_now(1);
    queue.put_now(2);
    (void)queue.get_now();  // being processed
    auto join = [&]() -> task<> { co_await queue.join(); };
    auto joiner = weir::spawn(join);
    co_await settle_all();
    queue.close_now();
    co_await settle_all();
    EXPECT_FALSE(joiner.done());
    queue.task_done();
    co_await joiner;
    EXPECT_THROW(queue.task_done(), weir::invalid_state);
}

WEIR_TEST(Semantics, Q_14) {
    co_await check_close_now_unfinished<weir::queue<int>>();
}

template <class Queue>
task<> check_closed_now_forms() {
    Queue queue(2);
    queue.put_now(1);
    queue.put_now(2);
    queue.close();
    queue.close();
    EXPECT_THROW(queue.put_now(3), weir::queue_closed);
    EXPECT_FALSE(queue.try_put(3));
    (void)queue.get_now();
    EXPECT_EQ(queue.size(), 1u);
    queue.close_now();  // drops the rest
    EXPECT_EQ(queue.size(), 0u);
    EXPECT_EQ(queue.unfinished(), 1u);
    EXPECT_THROW((void)queue.get_now(), weir::queue_closed);
    EXPECT_FALSE(queue.try_get().has_value());
    EXPECT_THROW(queue.put_now(3), weir::queue_closed);
    queue.close();
    queue.close_now();
    queue.task_done();
    co_await queue.join();
}

WEIR_TEST(Semantics, Q_15) {
    co_await check_closed_now_forms<weir::queue<int>>();
}

template <class Queue>
task<> check_cancellation() {
    Queue queue(1);
    numbers got;
    auto woken = weir::spawn(get_and_note(queue, got));
    co_await settle_all();
    auto next = weir::spawn(get_and_note(queue, got));
    co_await settle_all();
    queue.put_now(1);
    woken.cancel();
    co_await next;
    EXPECT_EQ(got, numbers{1});

    queue.put_now(2);
    auto put = [&](int item) -> task<> { co_await queue.put(item); };
    auto dead = weir::spawn(put, 3);
    co_await settle_all();
    auto live = weir::spawn(put, 4);
    co_await settle_all();
    (void)queue.get_now();
    dead.cancel();
    co_await live;
    EXPECT_EQ(queue.get_now(), 4);
    EXPECT_EQ(queue.size(), 0u);
    EXPECT_EQ(queue.unfinished(), 3u);
}

WEIR_TEST(Semantics, Q_18) {
    co_await check_join<weir::lifo_queue<int>>();
    co_await check_close<weir::lifo_queue<int>>();
    co_await check_close_now<weir::lifo_queue<int>>();
    co_await check_close_now_unfinished<weir::lifo_queue<int>>();
    co_await check_closed_now_forms<weir::lifo_queue<int>>();
    co_await check_cancellation<weir::lifo_queue<int>>();
    co_await check_join<weir::priority_queue<int>>();
    co_await check_close<weir::priority_queue<int>>();
    co_await check_close_now<weir::priority_queue<int>>();
    co_await check_close_now_unfinished<weir::priority_queue<int>>();
    co_await check_closed_now_forms<weir::priority_queue<int>>();
    co_await check_cancellation<weir::priority_queue<int>>();
}

struct stamped {
    int producer;
    int number;
};

// Retries each put until it returns; cancels of the attempt may come at any time.
WEIR_TEST(Semantics, Q_19) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        std::mt19937 random(seed);
        weir::queue<stamped> queue(1 + random() % 3);
        constexpr int each = 20;
        constexpr int producers = 3;
        std::vector<numbers> got(producers);
        std::vector<handle<void>> attempts(producers + 3);
        auto producer = [&](int id) -> task<> {
            for (int i = 0; i < each;) {
                auto put = [&]() -> task<> { co_await queue.put(stamped{id, i}); };
                auto& attempt = attempts[static_cast<std::size_t>(id)];
                attempt = weir::spawn(put);
                co_await attempt.wait();
                if (!attempt.cancelled()) {
                    ++i;
                }
                co_await weir::sleep(std::chrono::milliseconds(random() % 2));
            }
        };
        int total = 0;
        auto consumer = [&](int id) -> task<> {
            while (total < each * producers) {
                auto get = [&]() -> task<> {
                    const stamped item = co_await weir::timeout(5ms, queue.get());
                    got[static_cast<std::size_t>(item.producer)].push_back(item.number);
                    ++total;
                };
                auto& attempt = attempts[static_cast<std::size_t>(producers + id)];
                attempt = weir::spawn(get);
                co_await attempt.wait();
                if (attempt.failed()) {
                    (void)attempt.error();  // timed out: tries again
                }
                co_await weir::sleep(std::chrono::milliseconds(random() % 2));
            }
        };
        std::vector<handle<void>> running;
        for (int i = 0; i < producers; ++i) {
            running.push_back(weir::spawn(producer, i));
            running.push_back(weir::spawn(consumer, i));
        }
        for (int i = 0; i < 150; ++i) {
            if (random() % 3 == 0) {
                co_await weir::yield();
            } else {
                co_await weir::sleep(std::chrono::milliseconds(random() % 2));
            }
            auto& victim = attempts[random() % attempts.size()];
            if (victim) {
                victim.cancel();
            }
        }
        for (auto& each_task : running) {
            co_await each_task;
        }
        for (const numbers& of_one : got) {
            WEIR_ASSERT_EQ(of_one.size(), static_cast<std::size_t>(each)) << "seed " << seed;
            for (int i = 0; i < each; ++i) {  // once each, in order
                EXPECT_EQ(of_one[static_cast<std::size_t>(i)], i) << "seed " << seed;
            }
        }
        EXPECT_EQ(queue.size(), 0u);
        EXPECT_EQ(queue.unfinished(), static_cast<std::size_t>(each * producers));
    }
}

// Ours: a woken getter has a claim on an item; a get() that comes later waits behind it.
WEIR_TEST(Semantics, U_04) {
    weir::queue<int> queue(5);
    numbers got;
    auto first = weir::spawn(get_and_note(queue, got));
    co_await settle_all();
    queue.put_now(1);
    EXPECT_EQ(queue.size(), 1u);
    EXPECT_TRUE(queue.empty());  // no item that a get() could take without waiting
    EXPECT_THROW((void)queue.get_now(), weir::queue_empty);
    auto late = weir::spawn({.start = weir::start::eager}, get_and_note<weir::queue<int>>,
                            std::ref(queue), std::ref(got));
    EXPECT_FALSE(late.done());
    co_await first;
    EXPECT_EQ(got, numbers{1});
    queue.put_now(2);
    co_await late;
    EXPECT_EQ(got, (numbers{1, 2}));

    // The same for places.
    weir::queue<int> full(1);
    full.put_now(1);
    auto putter = weir::spawn(put_one<weir::queue<int>>, std::ref(full), 2);
    co_await settle_all();
    EXPECT_EQ(full.get_now(), 1);
    EXPECT_TRUE(full.full());
    EXPECT_THROW(full.put_now(3), weir::queue_full);
    co_await putter;
    EXPECT_EQ(full.get_now(), 2);
}

}  // namespace
