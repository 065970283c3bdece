// SPDX-License-Identifier: MIT
// Properties of map_concurrent with random sources, calls, limits and consumers: every item once,
// in order, never more than the limit in flight, never read further ahead; and however the run
// ends, no task is left. The naive versions have none of these properties.

#include "naive_map.hpp"

#include <weir/flow/map_concurrent.hpp>
#include <weir/timeout.hpp>

#include <algorithm>

namespace {

using namespace stream_tests;
using violation = std::optional<std::string>;

// The first rule that a run to the end violates, if any.
violation violation_in(const probe& seen, int limit, std::vector<int> results, bool ordered) {
    std::string found;
    if (seen.max_running > limit) {
        found += "more calls at a time than the limit: " + std::to_string(seen.max_running) + "\n";
    }
    if (seen.max_ahead > limit) {
        found += "read too far ahead: " + std::to_string(seen.max_ahead) + "\n";
    }
    if (seen.running != 0 || seen.sources_open != 0) {
        found += "something was left open\n";
    }
    if (!ordered) {
        std::sort(results.begin(), results.end());
    }
    std::vector<int> expected;
    for (int number = 0; number < seen.items; ++number) {
        expected.push_back(number * number);
    }
    if (results != expected) {
        found += "items are missing, doubled or misplaced\n";
    }
    return found.empty() ? violation() : violation(found);
}

using mapping = task<std::vector<int>> (*)(probe&, int limit);

template <bool Ordered>
task<std::vector<int>> weir_map(probe& watched, int limit) {
    auto call = [&watched](int number) { return watched.call(number); };
    const auto bound = static_cast<std::size_t>(limit);
    auto results = [&] {
        if constexpr (Ordered) {
            return weir::map_concurrent(watched.source(), bound, call);
        } else {
            return weir::map_as_completed(watched.source(), bound, call);
        }
    }();
    std::vector<int> all;
    while (auto each = co_await results.next()) {
        ++watched.taken;
        all.push_back(*each);
        co_await pause(watched.random);
    }
    co_return all;
}

// The first violation in these traces, or the first with this text.
task<violation> first_violation(mapping run, bool ordered, std::uint64_t traces,
                                std::string_view says = {}) {
    for (std::uint64_t trace = 0; trace < traces; ++trace) {
        probe watched(trace);
        watched.items = watched.random.below(20);
        const int limit = 1 + watched.random.below(5);
        std::vector<int> results = co_await run(watched, limit);
        violation found = violation_in(watched, limit, std::move(results), ordered);
        if (found && found->find(says) != std::string::npos) {
            co_return found;
        }
    }
    co_return std::nullopt;
}

WEIR_TEST(MapConcurrentProperties, OrderedHoldsOnRandomTraces) {
    const violation found = co_await first_violation(weir_map<true>, true, 300);
    EXPECT_FALSE(found) << *found;
}
WEIR_TEST(MapConcurrentProperties, AsCompletedHoldsOnRandomTraces) {
    const violation found = co_await first_violation(weir_map<false>, false, 300);
    EXPECT_FALSE(found) << *found;
}

WEIR_TEST(MapConcurrentProperties, NaiveVersionsFail) {
    violation found = co_await first_violation(unbounded_map, true, 50, "ahead");
    EXPECT_TRUE(found);
    found = co_await first_violation(batch_counting_map, true, 50, "more calls");
    EXPECT_TRUE(found);
    found = co_await first_violation(disordered_map, true, 50, "misplaced");
    EXPECT_TRUE(found);
}

// The ways in which a consumer leaves the stream. No task may be left afterwards.
enum class leaving { drop, close, stop, timeout, count };

task<> consume_some(probe& watched, int limit, int wanted, leaving way, bool ordered) {
    auto call = [&watched](int number) { return watched.call(number); };
    const auto bound = static_cast<std::size_t>(limit);
    auto results = ordered ? weir::map_concurrent(watched.source(), bound, call)
                           : weir::map_as_completed(watched.source(), bound, call);
    for (int got = 0; got < wanted; ++got) {
        auto each = co_await results.next();
        if (!each) {
            co_return;
        }
        ++watched.taken;
        if (ordered) {
            EXPECT_EQ(*each, got * got);
        }
        co_await pause(watched.random);
    }
    if (way == leaving::close) {
        co_await results.close();
        EXPECT_EQ(watched.running, 0);
        EXPECT_EQ(watched.sources_open, 0);
    }
}

WEIR_TEST(MapConcurrentProperties, LeavesNothingBehindHoweverItEnds) {
    for (std::uint64_t trace = 0; trace < 300; ++trace) {
        probe watched(trace);
        dice& random = watched.random;
        watched.items = random.below(12);
        watched.source_fails_at = random.one_in(3) ? random.below(12) : -1;
        watched.item_fails_at = random.one_in(3) ? random.below(12) : -1;
        const int limit = 1 + random.below(4);
        const auto way = static_cast<leaving>(random.below(static_cast<int>(leaving::count)));
        weir::testing::allow_report(weir::report_kind::unretrieved_error, "item");
        weir::testing::allow_report(weir::report_kind::unretrieved_error, "the source failed");
        auto run = [&]() -> task<> {
            return consume_some(watched, limit, random.below(10), way, random.one_in(2));
        };
        handle<void> consumer;
        if (way == leaving::timeout) {
            consumer = weir::spawn([&]() -> task<> {
                co_await weir::timeout(std::chrono::milliseconds(random.below(15)), run());
            });
        } else {
            consumer = weir::spawn(run());
        }
        if (way == leaving::stop) {
            co_await weir::sleep(std::chrono::milliseconds(random.below(15)));
            consumer.cancel();
        }
        co_await consumer.wait();
        if (consumer.failed()) {
            (void)consumer.error();
        }
        co_await settle_all();
        // A destroyed stream is closed in the background, including the pauses of its clean-up.
        co_await weir::sleep(1ms);
        WEIR_ASSERT_EQ(watched.running, 0) << "trace " << trace;
        WEIR_ASSERT_EQ(watched.sources_open, 0) << "trace " << trace;
        WEIR_ASSERT_LE(watched.max_running, limit) << "trace " << trace;
        WEIR_ASSERT_LE(watched.max_ahead, limit) << "trace " << trace;
    }
}

// The first failure in the order of items ends the run: all results before it were delivered, and
// no call starts after it.
WEIR_TEST(MapConcurrentProperties, ErrorsComeInTheirPlace) {
    for (std::uint64_t trace = 0; trace < 200; ++trace) {
        probe watched(trace);
        dice& random = watched.random;
        watched.items = 1 + random.below(15);
        watched.item_fails_at = random.below(watched.items);
        const int limit = 1 + random.below(4);
        auto call = [&watched](int number) { return watched.call(number); };
        auto results =
            weir::map_concurrent(watched.source(), static_cast<std::size_t>(limit), call);
        int got = 0;
        std::optional<int> failed;
        try {
            while (auto each = co_await results.next()) {
                EXPECT_EQ(*each, got * got);
                ++got;
            }
        } catch (const bad_item& error) {
            failed = error.item;
        }
        WEIR_ASSERT_TRUE(failed.has_value());
        EXPECT_EQ(*failed, watched.item_fails_at);
        EXPECT_EQ(got, watched.item_fails_at);
        EXPECT_EQ(watched.running, 0);
        EXPECT_EQ(watched.sources_open, 0);
        EXPECT_LE(watched.started, watched.item_fails_at + limit);
        auto after_the_end = co_await results.next();
        EXPECT_FALSE(after_the_end);
    }
}

WEIR_TEST(MapConcurrentProperties, SettledGivesEveryItemItsOutcome) {
    for (std::uint64_t trace = 0; trace < 200; ++trace) {
        probe watched(trace);
        dice& random = watched.random;
        watched.items = random.below(12);
        watched.item_fails_at = random.below(12);
        watched.source_fails_at = random.one_in(3) ? random.below(12) : -1;
        const std::size_t limit = 1 + static_cast<std::size_t>(random.below(4));
        auto call = [&watched](int number) { return watched.call(number); };
        const bool source_fails =
            watched.source_fails_at >= 0 && watched.source_fails_at < watched.items;
        const int expected = source_fails ? watched.source_fails_at : watched.items;
        std::vector<int> seen(static_cast<std::size_t>(expected), 0);
        auto results = weir::map_as_completed_settled(watched.source(), limit, call);
        bool threw = false;
        try {
            while (auto each = co_await results.next()) {
                const auto number = static_cast<int>(each->first);
                WEIR_ASSERT_LT(number, expected);
                ++seen[each->first];
                EXPECT_EQ(each->second.has_value(), number != watched.item_fails_at);
                if (each->second) {
                    EXPECT_EQ(each->second.value(), number * number);
                }
            }
        } catch (const bad_source&) {
            threw = true;
        }
        EXPECT_EQ(threw, source_fails);
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), expected);
        EXPECT_EQ(watched.sources_open, 0);
    }
}

}  // namespace
