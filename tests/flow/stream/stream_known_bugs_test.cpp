// SPDX-License-Identifier: MIT
// Bugs of other libraries that this part of the layer could have too.

#include "support.hpp"

#include <weir/flow/batcher.hpp>
#include <weir/flow/consume.hpp>
#include <weir/flow/map_concurrent.hpp>
#include <weir/timeout.hpp>

namespace {

using namespace stream_tests;

// An item granted to a consumer that is stopped is not lost: the next consumer gets it.
WEIR_TEST(KnownBugs, asyncio_201_a_stop_racing_a_dequeue_leaves_the_item_in_the_queue) {
    for (int turns = 0; turns < 6; ++turns) {
        weir::queue<int> numbers(1);
        weir::consume_report report;
        auto process = [](int) {};
        const auto consumer = weir::spawn([&]() -> task<> {
            co_await weir::consume(numbers, {.consumers = 1, .report = &report}, process);
        });
        co_await settle_all();
        co_await numbers.put(1);
        for (int turn = 0; turn < turns; ++turn) {
            co_await weir::yield();
        }
        consumer.cancel();
        co_await consumer.wait();
        EXPECT_EQ(report.processed + report.interrupted + numbers.size(), 1u);
        EXPECT_EQ(report.interrupted, 0u);  // processing does not suspend
    }
}

// Stopped callers release their capacity at once.
WEIR_TEST(KnownBugs, tower_71_withdrawn_items_hold_no_capacity) {
    auto same = [](std::vector<int> numbers) -> task<std::vector<int>> { co_return numbers; };
    weir::batcher<int, int> echo({.size = 10, .linger = 1s, .capacity = 2}, same);
    auto ask = [&echo](int number) -> task<int> { co_return co_await echo.call(number); };
    const auto first = weir::spawn(ask, 1);
    const auto second = weir::spawn(ask, 2);
    co_await settle_all();
    first.cancel();
    second.cancel();
    co_await first.wait();
    co_await second.wait();
    const int answer = co_await ask(3);
    EXPECT_EQ(answer, 3);
    EXPECT_EQ(echo.stats().refused, 0u);
}

// A failure while the stream is being drained is delivered, and so is every result before it.
WEIR_TEST(KnownBugs, kestra_17129_a_failure_during_the_drain_drops_no_result) {
    auto call = [](int number) -> task<int> {
        co_await weir::sleep(std::chrono::seconds(number));
        if (number == 3) {
            throw bad_item(number);
        }
        co_return number;
    };
    auto results = weir::map_as_completed(weir::range(4), 4, call);  // the source ends at once
    int got = 0;
    bool failed = false;
    try {
        while (auto each = co_await results.next()) {
            EXPECT_EQ(*each, got++);
        }
    } catch (const bad_item&) {
        failed = true;
    }
    EXPECT_EQ(got, 3);
    EXPECT_TRUE(failed);
}

}  // namespace
