// SPDX-License-Identifier: MIT
// consume, produce, produce_and_consume: consumers survive failing items, no item is lost, the
// queue is closed when the producers have ended, and after a stop at any point the counts are
// consistent.

#include "support.hpp"

#include <weir/flow/consume.hpp>
#include <weir/race.hpp>

#include <algorithm>
#include <set>

namespace {

using namespace stream_tests;

void fill(weir::queue<int>& numbers, int count) {
    for (int number = 0; number < count; ++number) {
        numbers.put_now(number);
    }
}

WEIR_TEST(Consume, SurvivesBadItemsAndReports) {
    weir::queue<int> numbers(20);
    fill(numbers, 10);
    numbers.close();
    auto process = [](const int& number) -> task<> {
        co_await weir::sleep(1s);
        if (number % 3 == 0) {
            throw bad_item(number);
        }
    };
    std::set<int> failed;
    auto sink = [&failed](const int& number, const weir::outcome_view& ended) {
        EXPECT_EQ(ended.error<bad_item>()->item, number);
        failed.insert(number);
    };
    const auto begin = weir::now();
    const auto report = co_await weir::consume(numbers, {.consumers = 5}, process, sink);
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_EQ(report.processed, 6u);
    EXPECT_EQ(report.failed, 4u);
    EXPECT_EQ(report.interrupted, 0u);
    EXPECT_EQ(failed, (std::set{0, 3, 6, 9}));
    std::uint64_t sum = 0;
    for (const auto& each : report.consumers) {
        sum += each.processed + each.failed;
        EXPECT_EQ(each.processed + each.failed, 2u);  // no consumer ended early
    }
    EXPECT_EQ(sum, 10u);
    EXPECT_EQ(numbers.unfinished(), 0u);
}

WEIR_TEST(Consume, WithoutASinkTheFirstErrorIsInTheReport) {
    auto process = [](int number) {
        if (number > 1) {
            throw bad_item(number);
        }
    };
    const auto report = co_await weir::consume(weir::range(4), {}, process);
    EXPECT_EQ(report.processed, 2u);
    EXPECT_EQ(report.failed, 2u);
    try {
        std::rethrow_exception(report.first_error);
    } catch (const bad_item& error) {
        EXPECT_EQ(error.item, 2);
    }
}

WEIR_TEST(Consume, ASinkMayAwait) {
    weir::queue<int> dead_letters(1);
    auto process = [](int number) -> task<> {
        co_await weir::yield();
        throw bad_item(number);
    };
    auto sink = [&](int number, const weir::outcome_view&) -> task<> {
        co_await dead_letters.put(number);
    };
    std::vector<int> dead;
    auto read = [&]() -> task<> {
        while (auto number = co_await dead_letters.next()) {
            dead.push_back(*number);
        }
    };
    const auto reader = weir::spawn(read());
    const auto report = co_await weir::consume(weir::range(5), {.consumers = 2}, process, sink);
    dead_letters.close();
    co_await reader;
    EXPECT_EQ(report.failed, 5u);
    EXPECT_EQ(dead.size(), 5u);
}

WEIR_TEST(Consume, ASinkThatThrowsEndsIt) {
    weir::queue<int> numbers(20);
    fill(numbers, 10);
    auto process = [](int number) -> task<> {
        co_await weir::sleep(number == 1 ? 1s : 1h);
        throw bad_item(number);
    };
    auto sink = [](int, const weir::outcome_view& ended) {
        std::rethrow_exception(ended.error_ptr());
    };
    weir::consume_report report;
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(weir::consume(numbers, {.consumers = 3, .report = &report}, process, sink),
                      bad_item);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_EQ(report.failed, 1u);
    EXPECT_EQ(report.interrupted, 2u);
    EXPECT_EQ(numbers.size(), 7u);
}

WEIR_TEST(Consume, ReadsAGeneratorOneAtATime) {
    probe watched;
    watched.items = 30;
    auto process = [&](int number) -> task<> { co_await watched.call(number); };
    const auto report = co_await weir::consume(watched.source(), {.consumers = 4}, process);
    EXPECT_EQ(report.processed, 30u);
    EXPECT_LE(watched.max_running, 4);
    std::sort(watched.processed.begin(), watched.processed.end());
    EXPECT_EQ(watched.processed.size(), 30u);
    EXPECT_EQ(watched.processed.back(), 29);
    EXPECT_EQ(watched.sources_open, 0);
}

WEIR_TEST(Consume, AnErrorOfTheSourceComesAfterWhatWasTaken) {
    probe watched;
    watched.items = 10;
    watched.source_fails_at = 4;
    weir::consume_report report;
    auto process = [](int) -> task<> { co_await weir::sleep(1s); };
    WEIR_EXPECT_THROW(weir::consume(watched.source(), {.consumers = 3, .report = &report}, process),
                      bad_source);
    EXPECT_EQ(report.processed, 4u);
    EXPECT_EQ(report.interrupted, 0u);
    EXPECT_EQ(watched.sources_open, 0);
}

WEIR_TEST(Consume, EachItemHasATimeout) {
    auto process = [](int seconds) -> task<> {
        co_await weir::sleep(std::chrono::seconds(seconds));
    };
    int late = 0;
    auto sink = [&late](int, const weir::outcome_view& ended) {
        late += ended.error<weir::timed_out>() != nullptr ? 1 : 0;
    };
    const auto report = co_await weir::consume(
        weir::range(5), {.consumers = 2, .item_timeout = 2500ms}, process, sink);
    EXPECT_EQ(report.processed, 3u);
    EXPECT_EQ(late, 2);
}

WEIR_TEST(Consume, AStopLeavesWaitingItems) {
    weir::queue<int> numbers(20);
    fill(numbers, 10);
    weir::consume_report report;
    auto process = [](int) -> task<> { co_await weir::sleep(1s); };
    auto run = [&]() -> task<> {
        const auto ended =
            co_await weir::consume(numbers, {.consumers = 2, .report = &report}, process);
        ADD_FAILURE() << ended.processed;
    };
    const auto running = weir::spawn(run());
    co_await weir::sleep(2500ms);
    running.cancel();
    co_await running.wait();
    EXPECT_EQ(report.processed, 4u);
    EXPECT_EQ(report.interrupted, 2u);
    EXPECT_EQ(numbers.size(), 4u);
    EXPECT_EQ(numbers.unfinished(), 4u);
}

WEIR_TEST(Consume, AStopCanWaitForItemsInProgress) {
    weir::queue<int> numbers(20);
    fill(numbers, 10);
    weir::consume_report report;
    int sunk = 0;
    auto process = [](int number) -> task<> {
        co_await weir::sleep(1s);
        if (number == 5) {
            throw bad_item(number);
        }
    };
    auto sink = [&sunk](int, const weir::outcome_view&) -> task<> {
        co_await weir::sleep(1s);
        ++sunk;
    };
    auto run = [&]() -> task<> {
        const auto ended = co_await weir::consume(
            numbers, {.consumers = 2, .finish_items = true, .report = &report}, process, sink);
        ADD_FAILURE() << ended.processed;
    };
    const auto running = weir::spawn(run());
    co_await weir::sleep(2500ms);
    running.cancel();
    co_await running.wait();
    EXPECT_EQ(report.processed, 5u);
    EXPECT_EQ(report.failed, 1u);
    EXPECT_EQ(sunk, 1);
    EXPECT_EQ(report.interrupted, 0u);
    EXPECT_EQ(numbers.size(), 4u);
}

WEIR_TEST(Consume, MoveOnlyItems) {
    weir::queue<std::unique_ptr<int>> boxes(3);
    boxes.put_now(std::make_unique<int>(1));
    boxes.put_now(std::make_unique<int>(2));
    boxes.close();
    int sum = 0;
    auto add = [&sum](std::unique_ptr<int> box) { sum += *box; };
    const auto report = co_await weir::consume(boxes, {}, add);
    EXPECT_EQ(report.processed, 2u);
    EXPECT_EQ(sum, 3);
}

// ---- with producers

task<> produce_numbers(weir::queue<int>& to, dice& random, int first, int count, int fails_at) {
    for (int number = 0; number < count; ++number) {
        co_await pause(random);
        if (number == fails_at) {
            throw bad_source();
        }
        co_await to.put(first + number);
    }
}

WEIR_TEST(ProduceAndConsume, EveryItemOnce) {
    for (std::uint64_t trace = 0; trace < 200; ++trace) {
        dice random(trace);
        weir::queue<int> numbers(1 + static_cast<std::size_t>(random.below(4)));
        std::vector<task<>> producers;
        const int count = 1 + random.below(4);
        for (int producer = 0; producer < count; ++producer) {
            producers.push_back(produce_numbers(numbers, random, producer * 100, 10, -1));
        }
        std::multiset<int> seen;
        auto process = [&](int number) -> task<> {
            co_await pause(random);
            seen.insert(number);
            if (number % 4 == 0) {
                throw bad_item(number);
            }
        };
        const weir::consume_options options{.consumers =
                                                1 + static_cast<std::size_t>(random.below(4))};
        const auto report =
            co_await weir::produce_and_consume(numbers, std::move(producers), options, process);
        WEIR_ASSERT_EQ(report.processed + report.failed, static_cast<std::uint64_t>(count) * 10);
        WEIR_ASSERT_EQ(seen.size(), static_cast<std::size_t>(count) * 10);
        WEIR_ASSERT_EQ(std::set<int>(seen.begin(), seen.end()).size(), seen.size());
        WEIR_ASSERT_TRUE(numbers.is_closed());
    }
}

WEIR_TEST(ProduceAndConsume, AFailedProducerEndsItAfterTheRest) {
    for (std::uint64_t trace = 0; trace < 50; ++trace) {
        dice random(trace);
        weir::queue<int> numbers(100);
        std::vector<task<>> producers;
        producers.push_back(produce_numbers(numbers, random, 0, 10, 5));
        producers.push_back(produce_numbers(numbers, random, 100, 1000, -1));
        std::vector<int> seen;
        auto process = [&](int number) -> task<> {
            co_await pause(random);
            seen.push_back(number);
        };
        weir::consume_report report;
        WEIR_EXPECT_THROW(weir::produce_and_consume(numbers, std::move(producers),
                                                    {.consumers = 2, .report = &report}, process),
                          bad_source);
        WEIR_ASSERT_TRUE(numbers.is_closed());
        WEIR_ASSERT_EQ(numbers.unfinished(), 0u);  // all queued items have been processed
        WEIR_ASSERT_EQ(report.processed, seen.size());
        WEIR_ASSERT_EQ(std::count_if(seen.begin(), seen.end(), [](int each) { return each < 100; }),
                       5);
    }
}

WEIR_TEST(ProduceAndConsume, AnErrorOfTheSinkStopsTheProducers) {
    weir::queue<int> numbers(2);
    dice random;
    std::vector<task<>> producers;
    producers.push_back(produce_numbers(numbers, random, 0, 1'000'000, -1));
    auto process = [](int number) { throw bad_item(number); };
    auto sink = [](int, const weir::outcome_view& ended) {
        std::rethrow_exception(ended.error_ptr());
    };
    WEIR_EXPECT_THROW(weir::produce_and_consume(numbers, std::move(producers), {}, process, sink),
                      bad_item);
    EXPECT_TRUE(numbers.is_closed());
}

// After a stop at any point, each item is processed, failed, interrupted, or still in the queue.
WEIR_TEST(ProduceAndConsume, CountsAreConsistentAfterAStop) {
    for (std::uint64_t trace = 0; trace < 300; ++trace) {
        dice random(trace);
        weir::queue<int> numbers(3);
        std::uint64_t put = 0;
        auto producer = [&](int count) -> task<> {
            for (int number = 0; number < count; ++number) {
                co_await pause(random);
                co_await numbers.put(number);
                ++put;
            }
        };
        weir::consume_report report;
        auto process = [&](int number) -> task<> {
            co_await pause(random);
            if (number % 3 == 0) {
                throw bad_item(number);
            }
        };
        const weir::consume_options options{
            .consumers = 2, .finish_items = random.one_in(2), .report = &report};
        bool has_begun = false;
        auto run = [&]() -> task<> {
            has_begun = true;
            std::vector<task<>> producers;
            producers.push_back(producer(20));
            producers.push_back(producer(20));
            co_await weir::produce_and_consume(numbers, std::move(producers), options, process);
        };
        const auto running = weir::spawn(run());
        co_await weir::sleep(std::chrono::milliseconds(random.below(25)));
        running.cancel();
        co_await running.wait();
        WEIR_ASSERT_EQ(put, report.processed + report.failed + report.interrupted + numbers.size())
            << "trace " << trace;
        WEIR_ASSERT_EQ(numbers.unfinished(), numbers.size()) << "trace " << trace;
        WEIR_ASSERT_EQ(numbers.is_closed(), has_begun);
        if (options.finish_items) {
            WEIR_ASSERT_EQ(report.interrupted, 0u);
        }
    }
}

WEIR_TEST(Produce, ClosesTheQueueWhenTheLastHasEnded) {
    weir::queue<int> numbers(100);
    dice random;
    std::vector<task<>> producers;
    producers.push_back(produce_numbers(numbers, random, 0, 10, -1));
    producers.push_back(produce_numbers(numbers, random, 10, 10, -1));
    co_await weir::produce(numbers, std::move(producers));
    EXPECT_TRUE(numbers.is_closed());
    EXPECT_EQ(numbers.size(), 20u);
}

WEIR_TEST(Consume, BadOptionsAreNamed) {
    auto process = [](int) {};
    EXPECT_THROW((void)weir::consume(weir::range(3), {.consumers = 0}, process),
                 weir::invalid_argument);
    EXPECT_THROW((void)weir::consume(weir::range(3), {.item_timeout = 0s}, process),
                 weir::invalid_argument);
    EXPECT_THROW((void)weir::consume(weir::range(3), {.item_timeout = -1s}, process),
                 weir::invalid_argument);
    co_return;
}

}  // namespace
