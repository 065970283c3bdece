// SPDX-License-Identifier: MIT
// The queue under stops, timeouts, destruction and explored schedules; see also
// queue_property_test.cpp.

#include "support.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace sync_tests;

TEST(Queue, MayBeDestroyedWithWaiters) {
    expect_always(
        []() -> task<> {
            std::optional<weir::queue<int>> queue(std::in_place, 1);
            endings count;
            auto get = [&]() -> task<> { (void)co_await queue->get(); };
            auto put = [&]() -> task<> { co_await queue->put(1); };
            auto join = [&]() -> task<> { co_await queue->join(); };
            auto granted = weir::spawn(ended(count, get));
            co_await settle_all();
            auto waiting = weir::spawn(ended(count, get));
            co_await settle_all();
            queue->put_now(1);
            auto joiner = weir::spawn(ended(count, join), {.start = weir::start::eager});
            queue.reset();
            co_await granted;
            co_await waiting;
            co_await joiner;
            EXPECT_EQ(count.invalid, 3);

            queue.emplace(1);
            queue->put_now(1);
            auto claims = weir::spawn(ended(count, put));
            co_await settle_all();
            auto waits = weir::spawn(ended(count, put));
            co_await settle_all();
            (void)queue->get_now();
            queue.reset();
            co_await claims;
            co_await waits;
            EXPECT_EQ(count.invalid, 5);
            EXPECT_EQ(count.well, 0);
        },
        50);
}

struct fragile {
    int value = 0;
    static inline int moves_left = 1000;
    explicit fragile(int v) : value(v) {}
    fragile(const fragile& other) : value(other.value) { move(); }
    fragile(fragile&& other) noexcept(false) : value(other.value) { move(); }
    static void move() {
        if (moves_left == 0) {
            throw std::runtime_error("broke on the way");
        }
        --moves_left;
    }
};

// A move that throws, at every possible move: the queue stays consistent, and no task loses a
// claim.
TEST(Queue, ItemsMayThrowWhenMoved) {
    for (int breaks_at = 0; breaks_at < 12; ++breaks_at) {
        auto body = [breaks_at]() -> task<> {
            weir::queue<fragile> queue(1);
            int put = 0;
            int got = 0;
            int thrown = 0;
            auto producer = [&]() -> task<> {
                for (int i = 0; i < 4; ++i) {
                    bool is_in = false;
                    while (!is_in) {
                        try {
                            co_await queue.put(fragile(i));
                            is_in = true;
                        } catch (const std::runtime_error&) {
                            ++thrown;
                            fragile::moves_left = 1000;
                        }
                    }
                    ++put;
                }
                queue.close();
            };
            auto consumer = [&]() -> task<> {
                for (;;) {
                    try {
                        const fragile item = co_await queue.get();
                        EXPECT_EQ(item.value, got);
                        ++got;
                    } catch (const weir::queue_closed&) {
                        co_return;
                    } catch (const std::runtime_error&) {
                        ++thrown;
                        fragile::moves_left = 1000;
                    }
                }
            };
            fragile::moves_left = breaks_at;
            auto a = weir::spawn(consumer);
            auto b = weir::spawn(producer);
            co_await a;
            co_await b;
            EXPECT_EQ(put, 4);
            EXPECT_EQ(got, 4);
            EXPECT_EQ(thrown, 1);
        };
        weir::loop_options options;
        options.driver = weir::driver_kind::simulated;
        weir::run(body(), std::move(options));
    }
    fragile::moves_left = 1000;
}

TEST(Queue, HasNoItemWhileAGetterWaits) {
    expect_always([]() -> task<> {
        dice random;
        auto queue = weir::queue<int>::unbounded();
        int put = 0;
        std::vector<int> got;
        crowd waiters;
        auto get = [&]() -> task<> {
            const int item = co_await queue.get();
            got.push_back(item);
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(get()); });
            co_await settle_all();
            for (int round = 0; round < 2; ++round) {
                for (int count = random.below(4); count > 0; --count) {
                    queue.put_now(put++);
                }
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_TRUE(queue.size() == 0 || waiters.waiting() == 0);
            EXPECT_EQ(queue.empty(), queue.size() == 0);
        }
        co_await waiters.end();
        while (auto item = queue.try_get()) {
            got.push_back(*item);
        }
        EXPECT_EQ(got.size(), static_cast<std::size_t>(put));
        EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
    });
}

TEST(Queue, HasNoPlaceWhileAPutterWaits) {
    expect_always([]() -> task<> {
        dice random;
        weir::queue<int> queue(3);
        int put = 0;
        int got = 0;
        crowd waiters;
        auto put_one = [&]() -> task<> {
            co_await queue.put(1);
            ++put;
        };
        for (int i = 0; i < bursts; ++i) {
            waiters.refill(static_cast<std::size_t>(random.below(8)),
                           [&] { return weir::spawn(put_one()); });
            co_await settle_all();
            for (int round = 0; round < 2; ++round) {
                for (int count = random.below(4); count > 0; --count) {
                    got += queue.try_get().value_or(0);
                }
                waiters.cancel_some(random);
            }
            co_await settle_all();
            EXPECT_EQ(put, got + static_cast<int>(queue.size()));
            EXPECT_LE(queue.size(), 3u);
            EXPECT_EQ(queue.full(), queue.size() == 3u);
            EXPECT_TRUE(queue.size() == 3u || waiters.waiting() == 0);
        }
        co_await waiters.end();
        EXPECT_EQ(queue.unfinished(), static_cast<std::size_t>(put));
    });
}

TEST(Queue, LosesNoItemToATimeout) {
    expect_always(
        []() -> task<> {
            weir::queue<int> queue(1);
            std::vector<int> got;
            auto attempt = [&]() -> task<> {
                try {
                    const int item = co_await weir::timeout(1s, queue.get());
                    got.push_back(item);
                } catch (const weir::timed_out&) {
                }
            };
            auto put = [&]() -> task<> {
                co_await weir::sleep(1s);
                co_await queue.put(1);
            };
            auto putter = weir::spawn({.start = weir::start::eager}, put);
            auto one = weir::spawn({.start = weir::start::eager}, attempt);
            auto two = weir::spawn({.start = weir::start::eager}, attempt);
            co_await putter;
            co_await one;
            co_await two;
            EXPECT_EQ(got.size() + queue.size(), 1u);
            EXPECT_EQ(queue.try_get().has_value(), got.empty());
        },
        200);
}

TEST(Queue, LosesNoPlaceToATimeout) {
    expect_always(
        []() -> task<> {
            weir::queue<int> queue(1);
            queue.put_now(0);
            int put = 1;
            auto attempt = [&]() -> task<> {
                try {
                    co_await weir::timeout(1s, queue.put(1));
                    ++put;
                } catch (const weir::timed_out&) {
                }
            };
            auto get = [&]() -> task<> {
                co_await weir::sleep(1s);
                (void)co_await queue.get();
            };
            auto getter = weir::spawn({.start = weir::start::eager}, get);
            auto one = weir::spawn({.start = weir::start::eager}, attempt);
            auto two = weir::spawn({.start = weir::start::eager}, attempt);
            co_await getter;
            co_await one;
            co_await two;
            EXPECT_EQ(queue.size(), static_cast<std::size_t>(put - 1));
            EXPECT_EQ(queue.unfinished(), static_cast<std::size_t>(put));
            EXPECT_EQ(queue.full(), put == 2);
        },
        200);
}

// Woken fibers have a claim on an item or a place, and keep it; what is beyond the claims is taken
// at once, as in asyncio.
WEIR_TEST(Queue, NewcomersTakeWhatIsNotClaimed) {
    weir::queue<int> items(2);
    int got = 0;
    auto get = [&]() -> task<> { got = co_await items.get(); };
    auto getter = weir::spawn(get);
    co_await settle_all();
    items.put_now(1);
    EXPECT_TRUE(items.empty()) << "the item is the woken getter's";
    EXPECT_EQ(items.try_get(), std::nullopt);
    items.put_now(2);
    EXPECT_EQ(items.try_get(), 1) << "two items, one claim: the discipline says which";
    EXPECT_EQ(items.try_get(), std::nullopt);
    co_await getter;
    EXPECT_EQ(got, 2);

    items.put_now(3);
    items.put_now(4);
    auto putter = weir::spawn([&]() -> task<> { co_await items.put(5); });
    co_await settle_all();
    EXPECT_EQ(items.get_now(), 3);
    EXPECT_FALSE(items.try_put(6)) << "the place is the woken putter's";
    EXPECT_EQ(items.get_now(), 4);
    EXPECT_TRUE(items.try_put(6));
    EXPECT_FALSE(items.try_put(7));
    co_await putter;
    EXPECT_EQ(items.get_now(), 6);
    EXPECT_EQ(items.get_now(), 5);
}

}  // namespace
