// SPDX-License-Identifier: MIT
// batch: the limit counts items, the delay is between batches, results are in order, an error ends
// the run or is collected, and a stop leaves no task behind.

#include "support.hpp"

#include <weir/flow/batch.hpp>
#include <weir/spawn.hpp>

namespace {

using namespace stream_tests;

task<int> slow_square(int number) {
    co_await weir::sleep(1s);
    co_return number* number;
}

WEIR_TEST(Batch, ResultsInOrderAndPausesInBetween) {
    const auto begin = weir::now();
    const auto all = co_await weir::batch(weir::range(10),
                                          {.size = 4, .concurrency = 2, .delay = 10s}, slow_square);
    EXPECT_EQ(all, (std::vector{0, 1, 4, 9, 16, 25, 36, 49, 64, 81}));
    // 2 s, pause, 2 s, pause, 1 s, and no pause.
    EXPECT_EQ(weir::now() - begin, 25s);
}

WEIR_TEST(Batch, NoPauseWhereItemsFillTheLastBatch) {
    const auto begin = weir::now();
    const auto all = co_await weir::batch(weir::range(8),
                                          {.size = 4, .concurrency = 4, .delay = 10s}, slow_square);
    EXPECT_EQ(all.size(), 8u);
    EXPECT_EQ(weir::now() - begin, 12s);
    const auto none = co_await weir::batch(weir::range(0), {.delay = 10s}, slow_square);
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(weir::now() - begin, 12s);
}

WEIR_TEST(Batch, TheLimitCountsItems) {
    for (std::uint64_t trace = 0; trace < 200; ++trace) {
        probe watched(trace);
        dice& random = watched.random;
        watched.items = random.below(40);
        const auto size = 1 + static_cast<std::size_t>(random.below(8));
        const auto concurrency = 1 + static_cast<std::size_t>(random.below(5));
        auto call = [&](int number) { return watched.call(number); };
        const auto all = co_await weir::batch(watched.source(),
                                              {.size = size, .concurrency = concurrency}, call);
        WEIR_ASSERT_EQ(all.size(), static_cast<std::size_t>(watched.items));
        for (int number = 0; number < watched.items; ++number) {
            WEIR_ASSERT_EQ(all[static_cast<std::size_t>(number)], number * number);
        }
        WEIR_ASSERT_LE(watched.max_running, static_cast<int>(concurrency));
        WEIR_ASSERT_EQ(watched.sources_open, 0);
    }
}

WEIR_TEST(Batch, OneBatchIsReadAtATime) {
    probe watched;
    watched.items = 100;
    auto call = [&](int number) -> task<int> {
        EXPECT_LE(watched.reads, (number / 5 + 1) * 5);
        co_return co_await watched.call(number);
    };
    const auto all = co_await weir::batch(watched.source(), {.size = 5, .concurrency = 3}, call);
    EXPECT_EQ(all.size(), 100u);
}

WEIR_TEST(Batch, TheFirstFailureEndsIt) {
    probe watched;
    watched.items = 100;
    watched.item_fails_at = 12;
    auto call = [&](int number) { return watched.call(number); };
    WEIR_EXPECT_THROW_WITH(weir::batch(watched.source(), {.size = 10, .concurrency = 4}, call),
                           bad_item, "item 12");
    EXPECT_EQ(watched.running, 0);
    EXPECT_LE(watched.started, 16);
    EXPECT_EQ(watched.sources_open, 0);
}

WEIR_TEST(Batch, SettledCollectsAllErrorsAndTimeouts) {
    auto call = [](int number) -> task<int> {
        co_await weir::sleep(std::chrono::seconds(number));
        if (number == 1) {
            throw bad_item(number);
        }
        co_return number;
    };
    std::vector<std::size_t> progress;
    auto note = [&progress](const weir::batch_progress& now) {
        progress.push_back(now.batch);
        progress.push_back(now.done);
        progress.push_back(now.failed);
    };
    const auto all = co_await weir::batch_settled(
        weir::range(5), {.size = 2, .item_timeout = 2500ms, .on_batch = note}, call);
    WEIR_ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(all[0].value(), 0);
    EXPECT_THROW((void)all[1].value(), bad_item);
    EXPECT_EQ(all[2].value(), 2);
    EXPECT_THROW((void)all[3].value(), weir::timed_out);
    EXPECT_THROW((void)all[4].value(), weir::timed_out);
    EXPECT_EQ(progress, (std::vector<std::size_t>{1, 2, 1, 2, 4, 2, 3, 5, 3}));
}

WEIR_TEST(Batch, OverAQueueWithoutResults) {
    weir::queue<std::string> words(10);
    words.put_now("a");
    words.put_now("bc");
    words.close();
    std::size_t letters = 0;
    auto count = [&](std::string word) -> task<> {
        EXPECT_EQ(words.unfinished(), 2u);
        co_await weir::sleep(1s);
        letters += word.size();
    };
    const auto done = co_await weir::batch(words, {}, count);
    EXPECT_EQ(done.size(), 2u);
    EXPECT_EQ(letters, 3u);
    EXPECT_EQ(words.unfinished(), 0u);
}

WEIR_TEST(Batch, AStopAnywhereLeavesNothing) {
    for (std::uint64_t trace = 0; trace < 200; ++trace) {
        probe watched(trace);
        dice& random = watched.random;
        watched.items = 50;
        auto call = [&](int number) { return watched.call(number); };
        auto run = [&]() -> task<> {
            const auto all = co_await weir::batch(
                watched.source(), {.size = 4, .concurrency = 3, .delay = 2ms}, call);
            (void)all;
        };
        const auto running = weir::spawn(run());
        co_await weir::sleep(std::chrono::milliseconds(random.below(40)));
        running.cancel();
        co_await running.wait();
        WEIR_ASSERT_EQ(watched.running, 0) << "trace " << trace;
        WEIR_ASSERT_EQ(watched.sources_open, 0) << "trace " << trace;
    }
}

WEIR_TEST(Batch, BadOptionsAreNamed) {
    auto call = [](int number) { return number; };
    EXPECT_THROW((void)weir::batch(weir::range(3), {.size = 0}, call), weir::invalid_argument);
    EXPECT_THROW((void)weir::batch(weir::range(3), {.concurrency = 0}, call),
                 weir::invalid_argument);
    EXPECT_THROW((void)weir::batch(weir::range(3), {.delay = -1s}, call), weir::invalid_argument);
    EXPECT_THROW((void)weir::batch(weir::range(3), {.item_timeout = 0s}, call),
                 weir::invalid_argument);
    try {
        (void)weir::batch(weir::range(3), {.concurrency = 0}, call);
    } catch (const weir::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("concurrency is 0"), std::string::npos)
            << error.what();
    }
    co_return;
}

WEIR_TEST(Batch, CallsInheritTheDeadlines) {
    int calls = 0;
    auto look = [&](int) -> task<> {
        ++calls;
        EXPECT_EQ(weir::current_deadline() - weir::now(), 5s);
        co_return;
    };
    const std::vector<int> items{1, 2, 3};
    co_await weir::timeout(5s, weir::batch(items, {.size = 2}, look));
    co_await weir::timeout(5s, weir::batch_settled(items, {.size = 2}, look));
    EXPECT_EQ(calls, 6);
    auto hurried = [&](int) -> task<> {
        EXPECT_EQ(weir::current_deadline() - weir::now(), 1s);
        co_return;
    };
    co_await weir::timeout(5s, weir::batch(items, {.item_timeout = 1s}, hurried));
}

}  // namespace
