// SPDX-License-Identifier: MIT
// map_concurrent: accepted sources and functions, timing, stops, and invalid limits.

#include "support.hpp"

#include <weir/flow/map_concurrent.hpp>
#include <weir/local.hpp>

#include <memory>

namespace {

using namespace stream_tests;

task<int> slow_square(int number) {
    co_await weir::sleep(1s);
    co_return number* number;
}

WEIR_TEST(MapConcurrent, RunsAtMostTheLimitAtATime) {
    const auto begin = weir::now();
    auto all = co_await weir::collect(weir::map_concurrent(weir::range(10), 4, slow_square));
    EXPECT_EQ(all, (std::vector{0, 1, 4, 9, 16, 25, 36, 49, 64, 81}));
    EXPECT_EQ(weir::now() - begin, 3s);
}

WEIR_TEST(MapConcurrent, ResultsDoNotWaitForASlowSource) {
    auto slowly = []() -> generator<int> {
        co_yield 1;
        co_await weir::sleep(1h);
        co_yield 2;
    };
    const auto begin = weir::now();
    auto results = weir::map_concurrent(slowly(), 4, slow_square);
    auto first = co_await results.next();
    EXPECT_EQ(*first, 1);
    EXPECT_EQ(weir::now() - begin, 1s);
    co_await results.close();
    EXPECT_EQ(weir::now() - begin, 1s);
}

WEIR_TEST(MapConcurrent, AsCompletedGivesTheQuickOnesFirst) {
    auto call = [](int seconds) -> task<int> {
        co_await weir::sleep(std::chrono::seconds(seconds));
        co_return seconds;
    };
    const std::vector<int> items{5, 1, 2};
    auto all = co_await weir::collect(weir::map_as_completed(items, 3, call));
    EXPECT_EQ(all, (std::vector{1, 2, 5}));
    auto one = co_await weir::collect(weir::map_as_completed(items, 1, call));
    EXPECT_EQ(one, items);
}

WEIR_TEST(MapConcurrent, TakesPlainFunctionsMembersAndMoveOnlyItems) {
    auto lengths = co_await weir::collect(weir::map_concurrent(
        weir::from(std::vector<std::string>(2, "four")), 2, &std::string::size));
    EXPECT_EQ(lengths, (std::vector<std::size_t>{4, 4}));

    std::vector<std::unique_ptr<int>> boxes;
    boxes.push_back(std::make_unique<int>(7));
    auto open = [](std::unique_ptr<int> box) -> task<std::unique_ptr<int>> {
        co_await weir::yield();
        co_return box;
    };
    auto opened = co_await weir::collect(weir::map_concurrent(std::move(boxes), 1, open));
    WEIR_ASSERT_EQ(opened.size(), 1u);
    EXPECT_EQ(*opened[0], 7);

    int sum = 0;
    auto add = [&sum](int number) { sum += number; };
    auto units = co_await weir::collect(weir::map_concurrent(weir::range(5), 2, add));
    EXPECT_EQ(units.size(), 5u);
    EXPECT_EQ(sum, 10);

    auto nap = [](int) { return weir::sleep(1s); };
    auto naps = co_await weir::collect(weir::map_concurrent(weir::range(4), 4, nap));
    EXPECT_EQ(naps.size(), 4u);
}

WEIR_TEST(MapConcurrent, CopiesWhatAGeneratorRefersTo) {
    std::vector<std::string> kept{"a", "b"};
    auto refer = [&]() -> generator<std::string&> {
        for (std::string& each : kept) {
            co_yield each;
        }
    };
    auto same = [](std::string text) -> task<std::string> {
        co_await weir::sleep(1s);
        co_return text;
    };
    auto all = co_await weir::collect(weir::map_concurrent(refer(), 2, same));
    EXPECT_EQ(all, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(kept, (std::vector<std::string>{"a", "b"}));
}

WEIR_TEST(MapConcurrent, FinishesTheItemsOfAQueue) {
    weir::queue<int> numbers(10);
    for (int number = 0; number < 5; ++number) {
        numbers.put_now(number);
    }
    auto results = weir::map_concurrent(numbers, 2, slow_square);
    auto first = co_await results.next();
    EXPECT_EQ(*first, 0);
    EXPECT_GE(numbers.unfinished(), 3u);
    numbers.close();
    int got = 1;
    while (auto each = co_await results.next()) {
        EXPECT_EQ(*each, got * got);
        ++got;
    }
    EXPECT_EQ(got, 5);
    co_await numbers.join();
}

WEIR_TEST(MapConcurrent, ItemsThatWaitInAQueueStayThere) {
    weir::queue<int> numbers(10);
    for (int number = 0; number < 5; ++number) {
        numbers.put_now(number);
    }
    auto results = weir::map_concurrent(numbers, 2, slow_square);
    auto first = co_await results.next();
    EXPECT_EQ(*first, 0);
    co_await results.close();
    EXPECT_GE(numbers.size(), 2u);
    EXPECT_EQ(numbers.unfinished(), numbers.size());  // the items in flight are finished
}

WEIR_TEST(MapConcurrent, NothingRunsBeforeTheFirstNext) {
    probe watched;
    watched.items = 3;
    auto call = [&watched](int number) { return watched.call(number); };
    {
        auto results = weir::map_concurrent(watched.source(), 2, call);
        co_await settle_all();
        EXPECT_EQ(watched.reads, 0);
    }
    co_await settle_all();
    EXPECT_EQ(watched.sources_open, 0);
}

WEIR_TEST(MapConcurrent, ReadsNoFurtherThanTheLimitForASlowConsumer) {
    probe watched;
    watched.items = 100;
    auto call = [&watched](int number) { return watched.call(number); };
    auto results = weir::map_concurrent(watched.source(), 3, call);
    auto first = co_await results.next();
    EXPECT_TRUE(first);
    ++watched.taken;
    co_await weir::sleep(1h);
    EXPECT_EQ(watched.reads, 4);
    EXPECT_EQ(watched.processed.size(), 4u);
    co_await results.close();
}

WEIR_TEST(MapConcurrent, CancelledCallsAreFailures) {
    auto victim = weir::spawn([]() -> task<> { co_await weir::sleep_forever(); });
    auto call = [&victim](int number) -> task<int> {
        if (number == 1) {
            victim.cancel("not wanted");
            co_await victim;
        }
        co_return number;
    };
    auto results = weir::map_concurrent(weir::range(3), 1, call);
    auto first = co_await results.next();
    EXPECT_EQ(*first, 0);
    WEIR_EXPECT_CANCELLED(results.next());
    auto settled = co_await weir::collect(weir::map_concurrent_settled(weir::range(3), 2, call));
    WEIR_ASSERT_EQ(settled.size(), 3u);
    EXPECT_TRUE(settled[1].is_cancelled());
    EXPECT_TRUE(settled[2].has_value());
}

WEIR_TEST(MapConcurrent, StopsReachTheCalls) {
    probe watched;
    watched.items = 10;
    auto for_ever = [&watched](int) -> task<int> {
        const probe::inside here(watched);
        co_await weir::finally(weir::sleep_forever(), []() -> task<> { co_await weir::sleep(1s); });
        co_return 0;
    };
    const auto begin = weir::now();
    auto consume = [&]() -> task<> {
        auto all = co_await weir::collect(weir::map_concurrent(watched.source(), 3, for_ever));
        ADD_FAILURE() << all.size();
    };
    const auto consumer = weir::spawn(consume());
    co_await weir::sleep(1min);
    EXPECT_EQ(watched.running, 3);
    consumer.cancel();
    co_await consumer.wait();
    EXPECT_EQ(watched.running, 0);  // their clean-up was awaited
    EXPECT_EQ(watched.sources_open, 0);
    EXPECT_EQ(weir::now() - begin, 1min + 1s);
}

WEIR_TEST(MapConcurrent, FailuresBehindTheFirstAreReported) {
    weir::testing::expect_report(weir::report_kind::unretrieved_error, "item 1");
    auto call = [](int number) -> task<int> {
        co_await weir::sleep(number == 0 ? 2s : 1s);
        throw bad_item(number);
    };
    WEIR_EXPECT_THROW_WITH(weir::collect(weir::map_concurrent(weir::range(2), 2, call)), bad_item,
                           "item 0");
}

WEIR_TEST(MapConcurrent, TaskLocalsAreThoseOfTheConsumer) {
    static weir::local<int> depth(0);
    auto call = [](int) -> task<int> {
        co_await weir::yield();
        co_return depth.get();
    };
    depth.set(5);
    auto all = co_await weir::collect(weir::map_concurrent(weir::range(2), 2, call));
    EXPECT_EQ(all, (std::vector{5, 5}));
}

WEIR_TEST(MapConcurrent, RefusesALimitOfZero) {
    EXPECT_THROW((void)weir::map_concurrent(weir::range(3), 0, slow_square),
                 weir::invalid_argument);
    EXPECT_THROW((void)weir::map_as_completed(weir::range(3), SIZE_MAX, slow_square),
                 weir::invalid_argument);
    try {
        (void)weir::map_concurrent(weir::range(3), 0, slow_square);
    } catch (const weir::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("limit is 0"), std::string::npos) << error.what();
    }
    co_return;
}

// The mapping keeps the function alive as long as calls use it.
WEIR_TEST(MapConcurrent, OwnsTheFunction) {
    std::weak_ptr<int> seen;
    auto start = [&seen] {
        auto shared = std::make_shared<int>(3);
        seen = shared;
        auto call = [shared](int number) -> task<int> {
            co_await weir::sleep(1s);
            co_return number** shared;
        };
        return weir::map_concurrent(weir::range(3), 2, call);
    };
    auto results = start();
    auto first = co_await results.next();
    EXPECT_EQ(*first, 0);
    EXPECT_FALSE(seen.expired());
    co_await results.close();
    EXPECT_TRUE(seen.expired());
}

// ---- deadlines

task<std::optional<weir::clock::duration>> time_left(int = 0) {
    const auto deadline = weir::current_deadline();
    co_return deadline == weir::clock::time_point::max() ? std::nullopt
                                                         : std::optional(deadline - weir::now());
}

WEIR_TEST(MapConcurrent, CallsInheritTheDeadlines) {
    std::optional<weir::clock::duration> of_source;
    auto source = [&]() -> generator<int> {
        of_source = co_await time_left();
        co_yield 1;
    };
    auto inside = [&]() -> task<> {
        auto all = co_await weir::collect(weir::map_concurrent(source(), 1, time_left));
        EXPECT_EQ(all.at(0), 5s);
        EXPECT_EQ(of_source, 5s);
        auto completed =
            co_await weir::collect(weir::map_as_completed(weir::range(2), 1, time_left));
        EXPECT_EQ(completed.at(1), 5s);
    };
    co_await weir::timeout(5s, inside());
    auto all = co_await weir::collect(weir::map_concurrent(weir::range(1), 1, time_left));
    EXPECT_EQ(all.at(0), std::nullopt);
}

// Calls that run ahead work for a later next(), which has a timeout of its own.
WEIR_TEST(MapConcurrent, ATimeoutOfOneResultIsNotInherited) {
    auto results = weir::map_concurrent(weir::range(4), 2, time_left);
    for (int i = 0; i < 4; ++i) {
        auto each = co_await weir::timeout(1s, results.next());
        WEIR_ASSERT_TRUE(each.has_value());
        EXPECT_EQ(*each, std::nullopt);
        co_await weir::sleep(10s);
    }
    co_await results.close();
    auto inside = []() -> task<> {
        auto limited = weir::map_concurrent(weir::range(4), 2, time_left);
        for (int i = 0; i < 4; ++i) {
            auto each = co_await weir::timeout(1s, limited.next());
            WEIR_ASSERT_TRUE(each.has_value());
            EXPECT_EQ(*each, 5s);
        }
        co_await limited.close();
    };
    co_await weir::timeout(5s, inside());
}

WEIR_TEST(MapConcurrent, ADeadlineIsInheritedOnlyWhileItsScopeLasts) {
    auto make = []() -> task<weir::generator<std::optional<weir::clock::duration>>> {
        co_return weir::map_concurrent(weir::range(3), 1, time_left);
    };
    auto results = co_await weir::timeout(5s, make());
    auto first = co_await results.next();
    EXPECT_EQ(*first, std::nullopt);
    co_await results.close();
    weir::cancel_scope scope(5s);
    auto moved = [&]() -> task<> {
        auto inside = weir::map_concurrent(weir::range(3), 1, time_left);
        auto before = co_await inside.next();
        EXPECT_EQ(*before, 5s);
        scope.reschedule_after(1h);
        (void)co_await inside.next();  // was called before
        auto after = co_await inside.next();
        EXPECT_EQ(*after, 1h);
        co_await inside.close();
    };
    co_await scope.run(moved());
}

}  // namespace
