// SPDX-License-Identifier: MIT
// batcher: the time of sending, the result of each caller, withdrawal by a stop, close and
// destruction; and with random callers, every call gets its own result exactly once.

#include "support.hpp"

#include <weir/flow/batcher.hpp>
#include <weir/flow/prometheus.hpp>
#include <weir/gather.hpp>
#include <weir/timeout.hpp>

#include <memory>
#include <numeric>

namespace {

using namespace stream_tests;
using doubling = weir::batcher<int, int>;

struct backend {
    std::vector<std::vector<int>> batches;
    weir::clock::duration takes = 1s;

    task<std::vector<int>> twice(std::vector<int> numbers) {
        batches.push_back(numbers);
        co_await weir::sleep(takes);
        for (int& each : numbers) {
            each *= 2;
        }
        co_return numbers;
    }
    auto function() {
        return [this](std::vector<int> numbers) { return twice(std::move(numbers)); };
    }
};

task<int> call_once(doubling& from, int number) {
    co_return co_await from.call(number);
}
std::vector<task<int>> asks(doubling& from, int count) {
    std::vector<task<int>> made;
    for (int number = 0; number < count; ++number) {
        made.push_back(call_once(from, number));
    }
    return made;
}

WEIR_TEST(Batcher, AFullBatchIsSentAtOnce) {
    weir::testing::in_ordinary_order();
    backend store;
    doubling twice({.size = 3, .linger = 1h}, store.function());
    const auto begin = weir::now();
    const auto answers = co_await weir::gather(asks(twice, 3));
    EXPECT_EQ(answers, (std::vector{0, 2, 4}));
    EXPECT_EQ(store.batches, (std::vector<std::vector<int>>{{0, 1, 2}}));
    EXPECT_EQ(weir::now() - begin, 1s);
}

WEIR_TEST(Batcher, AnIncompleteOneIsSentWhenTheFirstHasLingered) {
    backend store;
    doubling twice({.size = 10, .linger = 5ms}, store.function());
    const auto first = weir::spawn(call_once(twice, 1));
    co_await weir::sleep(3ms);
    const auto second = weir::spawn(call_once(twice, 2));
    co_await weir::sleep(1ms);
    EXPECT_TRUE(store.batches.empty());
    co_await weir::sleep(1ms);
    co_await settle_all();
    EXPECT_EQ(store.batches, (std::vector<std::vector<int>>{{1, 2}}));
    const int answer = co_await second;
    EXPECT_EQ(answer, 4);
    co_await first;
}

WEIR_TEST(Batcher, WithoutLingerTheCallsOfOneTurnGoTogether) {
    backend store;
    doubling twice({.size = 100}, store.function());
    const auto answers = co_await weir::gather(asks(twice, 20));
    EXPECT_EQ(answers.back(), 38);
    EXPECT_LE(store.batches.size(), 2u);
}

WEIR_TEST(Batcher, RunsAtMostConcurrencyBatchesAtATime) {
    backend store;
    doubling twice({.size = 2, .concurrency = 3}, store.function());
    const auto begin = weir::now();
    const auto answers = co_await weir::gather(asks(twice, 12));
    EXPECT_EQ(answers.size(), 12u);
    EXPECT_EQ(store.batches.size(), 6u);
    EXPECT_EQ(weir::now() - begin, 2s);
}

WEIR_TEST(Batcher, EachCallerGetsItsOwnError) {
    auto some_fail = [](std::vector<int> numbers) -> task<std::vector<weir::outcome<int>>> {
        co_await weir::yield();
        std::vector<weir::outcome<int>> answers;
        for (const int each : numbers) {
            answers.push_back(
                each == 1 ? weir::outcome<int>::from_error(std::make_exception_ptr(bad_item(each)))
                          : weir::outcome<int>::from_value(each));
        }
        co_return answers;
    };
    doubling same({.size = 3}, some_fail);
    const auto answers = co_await weir::gather_settled(asks(same, 3));
    EXPECT_EQ(answers[0].value(), 0);
    EXPECT_THROW((void)answers[1].value(), bad_item);
    EXPECT_EQ(answers[2].value(), 2);
    EXPECT_EQ(same.stats().failed_batches, 0u);
}

WEIR_TEST(Batcher, AFailedBatchFailsAllOfItAndNoOther) {
    int calls = 0;
    auto fail_once = [&calls](std::vector<int> numbers) -> task<std::vector<int>> {
        co_await weir::yield();
        if (++calls == 1) {
            throw bad_source();
        }
        co_return numbers;
    };
    doubling same({.size = 2}, fail_once);
    auto answers = co_await weir::gather_settled(asks(same, 4));
    int failed = 0;
    for (const auto& each : answers) {
        failed += each.has_error() ? 1 : 0;
    }
    EXPECT_EQ(failed, 2);
    EXPECT_EQ(same.stats().failed_batches, 1u);
}

WEIR_TEST(Batcher, AWrongNumberOfResultsIsAnError) {
    auto too_few = [](std::vector<int>) -> task<std::vector<int>> {
        co_return std::vector<int>(1);
    };
    doubling wrong({.size = 2}, too_few);
    auto answers = co_await weir::gather_settled(asks(wrong, 2));
    for (const auto& each : answers) {
        EXPECT_THROW((void)each.value(), weir::invalid_state);
    }
}

WEIR_TEST(Batcher, WithoutResults) {
    std::size_t written = 0;
    auto write = [&](std::vector<std::string> lines) -> task<> {
        co_await weir::sleep(1s);
        written += lines.size();
    };
    weir::batcher<std::string, void> lines({}, write);
    co_await lines.call("one");
    EXPECT_EQ(written, 1u);
    const weir::outcome<void> second = co_await lines.settle("two");
    EXPECT_TRUE(second);
}

WEIR_TEST(Batcher, AStoppedCallerTakesItsItemBack) {
    backend store;
    doubling twice({.size = 10, .linger = 10ms}, store.function());
    const auto gone = weir::spawn(call_once(twice, 1));
    const auto kept = weir::spawn(call_once(twice, 2));
    co_await weir::sleep(5ms);
    gone.cancel();
    co_await gone.wait();
    EXPECT_EQ(twice.stats().waiting, 1u);
    const int answer = co_await kept;
    EXPECT_EQ(answer, 4);
    EXPECT_EQ(store.batches, (std::vector<std::vector<int>>{{2}}));
    EXPECT_EQ(twice.stats().withdrawn, 1u);

    // All callers have left: nothing is sent.
    WEIR_EXPECT_TIMEOUT(weir::timeout(1ms, call_once(twice, 3)));
    co_await weir::sleep(1s);
    EXPECT_EQ(store.batches.size(), 1u);
}

WEIR_TEST(Batcher, OneThatWasSentIsNotTakenBack) {
    backend store;
    doubling twice({.size = 2}, store.function());
    const auto gone = weir::spawn(call_once(twice, 1));
    const auto kept = weir::spawn(call_once(twice, 2));
    co_await weir::sleep(500ms);
    gone.cancel();
    co_await gone.wait();
    const int answer = co_await kept;
    EXPECT_EQ(answer, 4);
    EXPECT_EQ(twice.stats().withdrawn, 0u);
    EXPECT_EQ(store.batches.size(), 1u);
}

WEIR_TEST(Batcher, MoreThanTheCapacityIsRefused) {
    backend store;
    doubling twice({.size = 2, .linger = 1s, .capacity = 2}, store.function());
    const auto sent1 = weir::spawn(call_once(twice, 1));
    const auto sent2 = weir::spawn(call_once(twice, 2));
    co_await settle_all();  // these two are in flight
    const auto waiting1 = weir::spawn(call_once(twice, 3));
    const auto waiting2 = weir::spawn(call_once(twice, 4));
    co_await settle_all();
    const weir::outcome<int> refused = co_await twice.settle(5);
    WEIR_ASSERT_TRUE(refused.is_refused());
    EXPECT_EQ(refused.refusal().reason, weir::refusal_reason::queue_full);
    WEIR_EXPECT_THROW(twice.call(6), weir::refused);
    EXPECT_EQ(twice.stats().batches, 1u);
    EXPECT_EQ(twice.stats().running, 1u);
    co_await weir::gather(sent1, sent2, waiting1, waiting2);
    EXPECT_EQ(twice.stats().refused, 2u);
    EXPECT_EQ(twice.stats().batches, 2u);
    EXPECT_EQ(twice.stats().items, 4u);
    EXPECT_EQ(twice.stats().running, 0u);
}

WEIR_TEST(Batcher, FlushDoesNotLinger) {
    backend store;
    doubling twice({.size = 10, .linger = 1h}, store.function());
    const auto begin = weir::now();
    const auto one = weir::spawn(call_once(twice, 1));
    co_await settle_all();
    twice.flush();
    const auto later = weir::spawn(call_once(twice, 2));
    const int answer = co_await one;
    EXPECT_EQ(answer, 2);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_FALSE(later.done());  // came after the flush
    co_await twice.close();
    co_await later;
    EXPECT_EQ(weir::now() - begin, 2s);
}

WEIR_TEST(Batcher, CloseAnswersAllAndRefusesNewcomers) {
    backend store;
    doubling twice({.size = 4, .linger = 1h}, store.function());
    const auto one = weir::spawn(call_once(twice, 1));
    co_await settle_all();
    const auto closing = weir::spawn(twice.close());
    co_await settle_all();
    const weir::outcome<int> late = co_await twice.settle(2);
    WEIR_ASSERT_TRUE(late.is_refused());
    EXPECT_EQ(late.refusal().reason, weir::refusal_reason::shut_down);
    EXPECT_FALSE(closing.done());
    co_await closing;
    const int answer = co_await one;
    EXPECT_EQ(answer, 2);
    co_await twice.close();
}

WEIR_TEST(Batcher, DestroyedWhileWaitedOn) {
    backend store;
    store.takes = 1h;
    auto twice = std::make_unique<doubling>(weir::batcher_options{.size = 2, .linger = 1h},
                                            store.function());
    const auto sent1 = weir::spawn(call_once(*twice, 1));
    const auto sent2 = weir::spawn(call_once(*twice, 2));
    const auto waiting = weir::spawn(call_once(*twice, 3));
    co_await settle_all();
    twice.reset();
    WEIR_EXPECT_THROW(sent1, weir::invalid_state);
    WEIR_EXPECT_THROW(sent2, weir::invalid_state);
    WEIR_EXPECT_THROW(waiting, weir::invalid_state);
}

WEIR_TEST(Batcher, Metrics) {
    backend store;
    doubling twice({.size = 2, .name = "users"}, store.function());
    const auto answers = co_await weir::gather(asks(twice, 4));
    EXPECT_EQ(answers.size(), 4u);
    weir::metrics all;
    const auto registered = all.add(twice);
    const std::string page = all.prometheus();
    EXPECT_NE(page.find("weir_batcher_items_total{name=\"users\"} 4"), std::string::npos) << page;
    EXPECT_NE(page.find("weir_batcher_batches_total{name=\"users\"} 2"), std::string::npos) << page;
}

WEIR_TEST(Batcher, BadOptionsAreNamed) {
    backend store;
    EXPECT_THROW(doubling({.size = 0}, store.function()), weir::invalid_argument);
    EXPECT_THROW(doubling({.linger = -1ms}, store.function()), weir::invalid_argument);
    EXPECT_THROW(doubling({.concurrency = 0}, store.function()), weir::invalid_argument);
    EXPECT_THROW(doubling({.capacity = 0}, store.function()), weir::invalid_argument);
    co_return;
}

// Random callers, some of which are stopped: every other caller gets its own result, no item is in
// two batches, no batch is too large, and withdrawn items are in none.
WEIR_TEST(Batcher, AnswersEveryCallOnceOnRandomTraces) {
    for (std::uint64_t trace = 0; trace < 300; ++trace) {
        dice random(trace);
        const weir::batcher_options options{
            .size = 1 + static_cast<std::size_t>(random.below(5)),
            .linger = std::chrono::milliseconds(random.below(4)),
            .concurrency = 1 + static_cast<std::size_t>(random.below(3)),
        };
        std::vector<int> sent(30, 0);
        std::size_t running = 0;
        auto function = [&](std::vector<int> numbers) -> task<std::vector<int>> {
            EXPECT_LE(numbers.size(), options.size);
            EXPECT_LE(++running, options.concurrency);
            for (int& each : numbers) {
                ++sent[static_cast<std::size_t>(each)];
                each *= 2;
            }
            co_await pause(random);
            --running;
            co_return numbers;
        };
        doubling twice(options, function);
        auto caller = [&](int number) -> task<> {
            co_await pause(random);
            const int answer = co_await twice.call(number);
            EXPECT_EQ(answer, 2 * number);
        };
        std::vector<handle<void>> callers;
        for (int number = 0; number < 30; ++number) {
            callers.push_back(weir::spawn(caller(number)));
        }
        for (int victims = random.below(10); victims > 0; --victims) {
            co_await pause(random);
            callers[static_cast<std::size_t>(random.below(30))].cancel();
        }
        for (const handle<void>& each : callers) {
            co_await each.wait();
        }
        co_await twice.close();
        std::uint64_t total = 0;
        for (std::size_t number = 0; number < callers.size(); ++number) {
            WEIR_ASSERT_FALSE(callers[number].failed());
            WEIR_ASSERT_LE(sent[number], 1) << "trace " << trace;
            WEIR_ASSERT_TRUE(sent[number] == 1 || callers[number].cancelled()) << "trace " << trace;
            total += static_cast<std::uint64_t>(sent[number]);
        }
        WEIR_ASSERT_EQ(twice.stats().items, total);
        WEIR_ASSERT_EQ(twice.stats().waiting, 0u);
        WEIR_ASSERT_EQ(twice.stats().running, 0u);
    }
}

}  // namespace
