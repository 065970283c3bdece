// SPDX-License-Identifier: MIT
// buffer, merge, chunk_within, throttle and zip: their items and timing, the read-ahead, and that
// no task is left behind.

#include "support.hpp"

#include <weir/flow/streams.hpp>
#include <weir/timeout.hpp>

#include <algorithm>
#include <numeric>

namespace {

using namespace stream_tests;

generator<int> every(weir::clock::duration interval, std::vector<int> numbers) {
    for (const int each : numbers) {
        co_await weir::sleep(interval);
        co_yield each;
    }
}

// ---- buffer

WEIR_TEST(Streams, BufferReadsAheadSoFar) {
    probe watched;
    watched.items = 20;
    auto ahead = weir::buffer(watched.source(), 4);
    auto first = co_await ahead.next();
    EXPECT_EQ(*first, 0);
    ++watched.taken;
    co_await weir::sleep(1h);
    EXPECT_EQ(watched.reads, 5);
    int expected = 1;
    while (auto each = co_await ahead.next()) {
        ++watched.taken;
        EXPECT_EQ(*each, expected++);
    }
    EXPECT_EQ(expected, 20);
    EXPECT_LE(watched.max_ahead, 4);
    EXPECT_EQ(watched.sources_open, 0);
}

WEIR_TEST(Streams, BufferOverlapsReadingAndUse) {
    const auto begin = weir::now();
    auto ahead = weir::buffer(every(1s, {1, 2, 3, 4}), 2);
    while (auto each = co_await ahead.next()) {
        co_await weir::sleep(1s);
    }
    EXPECT_EQ(weir::now() - begin, 5s);
}

WEIR_TEST(Streams, BufferGivesTheErrorAfterTheItems) {
    probe watched;
    watched.items = 5;
    watched.source_fails_at = 3;
    auto ahead = weir::buffer(watched.source(), 10);
    auto first = co_await ahead.next();
    EXPECT_TRUE(first);
    co_await weir::sleep(1h);  // the source has failed by now
    auto second = co_await ahead.next();
    auto third = co_await ahead.next();
    EXPECT_TRUE(second && third);
    WEIR_EXPECT_THROW(ahead.next(), bad_source);
    auto over = co_await ahead.next();
    EXPECT_FALSE(over);
    EXPECT_EQ(watched.sources_open, 0);
}

// ---- merge

WEIR_TEST(Streams, MergeGivesItemsAsTheyCome) {
    auto merged = weir::merge(every(300ms, {1, 2, 3}), every(200ms, {10, 20}), every(10s, {100}));
    auto all = co_await weir::collect(std::move(merged));
    EXPECT_EQ(all, (std::vector{10, 1, 20, 2, 3, 100}));
}

WEIR_TEST(Streams, MergeTakesQueuesAndRangesOfOtherTypes) {
    weir::queue<int> numbers(3);
    numbers.put_now(1);
    numbers.close();
    const std::vector<double> halves{0.5};
    auto merged = weir::merge(numbers, halves);
    std::vector<double> all = co_await weir::collect(std::move(merged));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (std::vector{0.5, 1.0}));
    co_await numbers.join();
}

WEIR_TEST(Streams, MergeOfNothingEndsAtOnce) {
    auto none = co_await weir::collect(weir::merge(std::vector<generator<int>>()));
    EXPECT_TRUE(none.empty());
}

WEIR_TEST(Streams, MergeIsFair) {
    // Two sources that are always ready: neither is ahead by more than one.
    auto endless = [](int sign) -> generator<int> {
        for (;;) {
            co_await weir::yield();
            co_yield sign;
        }
    };
    auto merged = weir::merge(endless(1), endless(-1));
    int balance = 0;
    for (int taken = 0; taken < 200; ++taken) {
        auto each = co_await merged.next();
        balance += *each;
        WEIR_ASSERT_LE(std::abs(balance), 2);
        co_await weir::sleep(1ms);  // a slow consumer: both are ready each time
    }
    co_await merged.close();
}

WEIR_TEST(Streams, MergeEndsWithTheFirstFailureAndStopsTheOthers) {
    probe watched;
    watched.items = 1000;
    auto failing = []() -> generator<int> {
        co_await weir::sleep(5ms);
        co_yield -1;
        throw bad_source();
    };
    auto merged = weir::merge(watched.source(), failing());
    bool seen = false;
    bool threw = false;
    try {
        while (auto each = co_await merged.next()) {
            seen = seen || *each == -1;
        }
    } catch (const bad_source&) {
        threw = true;
    }
    EXPECT_TRUE(seen);
    EXPECT_TRUE(threw);
    EXPECT_EQ(watched.sources_open, 0);
}

// Every item of every source exactly once, in the order of its source, in any schedule; and a
// consumer that leaves half-way leaves no task behind.
WEIR_TEST(Streams, MergeLosesNothingOnRandomTraces) {
    for (std::uint64_t trace = 0; trace < 200; ++trace) {
        dice random(trace);
        std::vector<std::unique_ptr<probe>> probes;
        std::vector<generator<std::pair<std::size_t, int>>> sources;
        const int count = 1 + random.below(4);
        for (int number = 0; number < count; ++number) {
            probes.push_back(std::make_unique<probe>(trace * 10 + static_cast<unsigned>(number)));
            probes.back()->items = random.below(10);
            sources.push_back(weir::map(probes.back()->source(), [number](int item) {
                return std::pair(static_cast<std::size_t>(number), item);
            }));
        }
        const int wanted = random.one_in(2) ? 1000 : random.below(10);
        std::vector<int> next(probes.size(), 0);
        {
            auto merged = weir::merge(std::move(sources));
            int got = 0;
            while (got < wanted) {
                auto each = co_await merged.next();
                if (!each) {
                    break;
                }
                ++got;
                probe& from = *probes[each->first];
                ++from.taken;
                WEIR_ASSERT_EQ(each->second, next[each->first]++);
                co_await pause(random);
            }
        }
        co_await settle_all();
        co_await weir::sleep(1ms);
        for (std::size_t number = 0; number < probes.size(); ++number) {
            WEIR_ASSERT_EQ(probes[number]->sources_open, 0) << "trace " << trace;
            // One item is read ahead, and the next one is not read. (The map in between holds
            // none.)
            WEIR_ASSERT_LE(probes[number]->max_ahead, 2) << "trace " << trace;
            if (wanted == 1000) {
                WEIR_ASSERT_EQ(next[number], probes[number]->items) << "trace " << trace;
            }
        }
    }
}

// ---- chunk_within

WEIR_TEST(Streams, ChunksAreGivenWhenFullOrWhenTheirTimeIsUp) {
    auto uneven = []() -> generator<int> {
        co_yield 1;
        co_yield 2;
        co_yield 3;  // full
        co_yield 4;
        co_await weir::sleep(60ms);
        co_yield 5;
        co_await weir::sleep(60ms);  // 100 ms after 4: the chunk is sent without 6
        co_yield 6;
    };
    const auto begin = weir::now();
    auto chunks = weir::chunk_within(uneven(), 3, 100ms);
    auto first = co_await chunks.next();
    EXPECT_EQ(*first, (std::vector{1, 2, 3}));
    EXPECT_EQ(weir::now() - begin, 0ms);
    auto second = co_await chunks.next();
    EXPECT_EQ(*second, (std::vector{4, 5}));
    EXPECT_EQ(weir::now() - begin, 100ms);
    auto third = co_await chunks.next();
    EXPECT_EQ(*third, (std::vector{6}));
    EXPECT_EQ(weir::now() - begin, 120ms);  // the source has ended: nothing to wait for
    auto over = co_await chunks.next();
    EXPECT_FALSE(over);
}

WEIR_TEST(Streams, ChunksGatherWhileTheConsumerIsBusy) {
    auto chunks = weir::chunk_within(every(10ms, {1, 2, 3, 4, 5}), 10, 15ms);
    auto first = co_await chunks.next();
    EXPECT_EQ(*first, (std::vector{1, 2}));
    co_await weir::sleep(1h);
    auto second = co_await chunks.next();
    EXPECT_EQ(*second, (std::vector{3, 4, 5}));
    auto over = co_await chunks.next();
    EXPECT_FALSE(over);
}

WEIR_TEST(Streams, ChunksComeBeforeTheErrorOfTheSource) {
    auto failing = []() -> generator<int> {
        co_yield 1;
        throw bad_source();
    };
    const auto begin = weir::now();
    auto chunks = weir::chunk_within(failing(), 3, 1h);
    auto first = co_await chunks.next();
    EXPECT_EQ(*first, (std::vector{1}));
    EXPECT_EQ(weir::now() - begin, 0ms);
    WEIR_EXPECT_THROW(chunks.next(), bad_source);
}

WEIR_TEST(Streams, ChunksHoldOnRandomTraces) {
    for (std::uint64_t trace = 0; trace < 300; ++trace) {
        probe watched(trace);
        dice& random = watched.random;
        watched.items = random.below(30);
        const auto size = 1 + static_cast<std::size_t>(random.below(5));
        const auto linger = std::chrono::milliseconds(random.below(5));
        int next = 0;
        auto chunks = weir::chunk_within(watched.source(), size, linger);
        while (auto some = co_await chunks.next()) {
            WEIR_ASSERT_FALSE(some->empty());
            WEIR_ASSERT_LE(some->size(), size);
            watched.taken += static_cast<int>(some->size());
            for (const int each : *some) {
                WEIR_ASSERT_EQ(each, next++) << "trace " << trace;
            }
            co_await pause(random);
        }
        WEIR_ASSERT_EQ(next, watched.items) << "trace " << trace;
        WEIR_ASSERT_LE(watched.max_ahead, static_cast<int>(size)) << "trace " << trace;
        WEIR_ASSERT_EQ(watched.sources_open, 0);
    }
}

WEIR_TEST(Streams, AStopAmidAChunkLeavesNothing) {
    for (int after = 0; after < 30; ++after) {
        probe watched(static_cast<std::uint64_t>(after));
        watched.items = 1000;
        auto consume = [&]() -> task<> {
            auto chunks = weir::chunk_within(watched.source(), 7, 3ms);
            while (auto some = co_await chunks.next()) {
                co_await pause(watched.random);
            }
        };
        const auto consumer = weir::spawn(consume());
        co_await weir::sleep(std::chrono::milliseconds(after));
        consumer.cancel();
        co_await consumer.wait();
        co_await settle_all();
        WEIR_ASSERT_EQ(watched.sources_open, 0);
    }
}

// ---- throttle

WEIR_TEST(Streams, ThrottleSpacesItems) {
    const auto begin = weir::now();
    auto uneven = []() -> generator<int> {
        co_yield 1;
        co_yield 2;
        co_await weir::sleep(10s);
        co_yield 3;
        co_yield 4;
    };
    auto paced = weir::throttle(uneven(), 1s);
    std::vector<int> at;
    while (auto each = co_await paced.next()) {
        at.push_back(static_cast<int>((weir::now() - begin) / 1s));
    }
    EXPECT_EQ(at, (std::vector{0, 1, 11, 12}));
}

WEIR_TEST(Streams, ThrottleAsksALimiterForEachItem) {
    struct limiter {
        int acquired = 0;
        task<int> acquire() {
            co_await weir::sleep(1s);
            co_return ++acquired;
        }
    } one_a_second;
    const auto begin = weir::now();
    auto all = co_await weir::collect(weir::throttle(weir::range(3), one_a_second));
    EXPECT_EQ(all, (std::vector{0, 1, 2}));
    EXPECT_EQ(one_a_second.acquired, 3);  // not for the end of the stream
    EXPECT_EQ(weir::now() - begin, 3s);

    weir::semaphore one(1);
    auto held = weir::throttle(weir::range(2), one);
    auto first = co_await held.next();
    EXPECT_TRUE(first);
    EXPECT_TRUE(one.locked());  // until the next item is requested
    auto second = co_await held.next();
    auto over = co_await held.next();
    EXPECT_TRUE(second);
    EXPECT_FALSE(over);
    EXPECT_FALSE(one.locked());
}

// ---- zip

WEIR_TEST(Streams, ZipEndsWithTheShortest) {
    probe watched;
    watched.items = 10;
    const std::vector<std::string> names{"a", "b"};
    auto rows = co_await weir::collect(weir::zip(names, watched.source(), weir::range(5)));
    WEIR_ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1], (std::tuple<std::string, int, int>("b", 1, 1)));
    EXPECT_EQ(watched.reads, 2);  // left to right: not read after the first had ended
    EXPECT_EQ(watched.sources_open, 0);
}

// ---- bad arguments

WEIR_TEST(Streams, BadArgumentsAreNamed) {
    EXPECT_THROW((void)weir::buffer(weir::range(3), 0), weir::invalid_argument);
    EXPECT_THROW((void)weir::chunk_within(weir::range(3), 0, 1s), weir::invalid_argument);
    EXPECT_THROW((void)weir::chunk_within(weir::range(3), 1, -1s), weir::invalid_argument);
    EXPECT_THROW((void)weir::throttle(weir::range(3), 0s), weir::invalid_argument);
    EXPECT_THROW((void)weir::throttle(weir::range(3), -1s), weir::invalid_argument);
    co_return;
}

}  // namespace
