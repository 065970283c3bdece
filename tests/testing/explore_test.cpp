// SPDX-License-Identifier: MIT
// Schedules: found, replayed by seed, and traced.

#include "core/debug/explorer.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/testing/testing.hpp>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::testing::exploration;
using weir::testing::explore;
using weir::testing::replay;

bool mentions(const exploration& found, std::string_view text) {
    return found.text().find(text) != std::string::npos;
}

// Two tasks race; the second to arrive must not be "right".
weir::task<> racing_body() {
    std::string order;
    auto racer = [&order](char name) -> weir::task<> {
        co_await weir::yield();
        order += name;
    };
    auto left = weir::spawn(racer, 'l');
    auto right = weir::spawn(racer, 'r');
    co_await left.wait();
    co_await right.wait();
    EXPECT_EQ(order, "lr");
}

TEST(Explore, FindsAnotherOrder) {
    const exploration found = explore(racing_body);
    EXPECT_TRUE(found.failed);
    EXPECT_NE(found.seed, 0u) << "the ordinary schedule is first in, first out";
    EXPECT_LT(found.schedules_run, 10u);
    EXPECT_TRUE(found.reproducible);
    EXPECT_GT(found.trace.size(), 4u);
}

TEST(Explore, ASeedIsASchedule) {
    const exploration found = explore(racing_body);
    const exploration first = replay(racing_body, found.seed);
    const exploration second = replay(racing_body, found.seed);
    EXPECT_TRUE(first.failed);
    EXPECT_EQ(first.messages, found.messages);
    EXPECT_EQ(first.trace, found.trace);
    EXPECT_EQ(second.trace, found.trace);
}

TEST(Explore, SeesThatARunCannotBeReproduced) {
    int runs = 0;
    auto body = [&runs]() -> weir::task<> {
        for (int left = ++runs; left > 0; --left) {
            co_await weir::yield();
        }
        EXPECT_TRUE(false);
    };
    const exploration found = explore(body);
    EXPECT_TRUE(found.failed);
    EXPECT_FALSE(found.reproducible);
}

TEST(Explore, NotesAreInTheTrace) {
    auto body = []() -> weir::task<> {
        weir::testing::note("about to wait");
        co_await weir::yield();
        WEIR_FAIL() << "here";
    };
    const exploration found = explore(body);
    EXPECT_NE(std::find(found.trace.begin(), found.trace.end(), "about to wait"),
              found.trace.end());
    EXPECT_TRUE(mentions(found, "here"));
}

TEST(Explore, ForcedYieldsComeBeforeTheEffect) {
    // A handle that is done: awaiting it would never suspend. Some schedules make it.
    std::size_t suspended = 0;
    auto body = [&suspended]() -> weir::task<> {
        auto ended = []() -> weir::task<int> { co_return 3; };
        auto handle = weir::spawn(ended);
        co_await handle.wait();
        bool others_ran = false;
        auto other = [&others_ran]() -> weir::task<> {
            others_ran = true;
            co_return;
        };
        auto watcher = weir::spawn(other);
        const int value = co_await handle;
        EXPECT_EQ(value, 3);
        suspended += others_ran ? 1 : 0;
        co_await watcher.wait();
    };
    const exploration found = explore(body, {.schedules = 200});
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_GE(suspended, 3u);
    suspended = 0;
    EXPECT_FALSE(replay(body, 0).failed);
    EXPECT_EQ(suspended, 0u);
}

// A seed that a failure printed plays the same schedule in later versions.
TEST(Explore, SeedsChooseTheStyleInTurn) {
    std::vector<std::string> names;
    for (std::uint64_t seed = 0; seed <= 5; ++seed) {
        names.emplace_back(weir::detail::explorer(seed).name());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"first in, first out", "random", "priorities",
                                               "random, with forced yields",
                                               "priorities, with forced yields", "random"}));
}

struct lettered_timer final : weir::detail::timer {
    lettered_timer(char name, bool ordered) : letter(name), is_ordered(ordered) {}
    void fire() noexcept override {}
    bool keeps_order() const noexcept override { return is_ordered; }
    char letter;
    bool is_ordered;
};

TEST(Explore, EqualDeadlinesFireInAnyOrderButCallbacksKeepTheirs) {
    std::set<std::string> orders;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        weir::detail::explorer shuffle(seed);
        weir::detail::timer_wheel wheel;
        lettered_timer timers[] = {
            {'a', false}, {'1', true}, {'b', false}, {'2', true}, {'z', false}};
        for (lettered_timer& each : timers) {
            wheel.arm(each, each.letter == 'z' ? 1001 : 1000);
        }
        std::string order;
        while (weir::detail::timer* due = wheel.pop_due(2000, &shuffle.random())) {
            order += static_cast<lettered_timer*>(due)->letter;
        }
        EXPECT_LT(order.find('1'), order.find('2')) << order;
        EXPECT_EQ(order.back(), 'z') << order;
        orders.insert(order);
    }
    EXPECT_EQ(orders.size(), 12u) << "all 4!/2 of them";
}

// Fails only if one task waits for its turn while another takes twenty: a fair coin would need a
// million schedules.
TEST(Explore, HoldsATaskBackForLong) {
    auto body = []() -> weir::task<> {
        int steps = 0;
        auto busy = [&steps]() -> weir::task<> {
            for (; steps < 20; ++steps) {
                co_await weir::yield();
            }
        };
        auto late = [&steps]() -> weir::task<> {
            EXPECT_LT(steps, 20);
            co_return;
        };
        auto left = weir::spawn(busy);
        auto right = weir::spawn(late);
        co_await left;
        co_await right;
    };
    EXPECT_TRUE(explore(body, {.schedules = 200}).failed);
}

TEST(Explore, PollingEndsUnderEverySchedule) {
    auto body = []() -> weir::task<> {
        bool flag = false;
        auto setter = [&flag]() -> weir::task<> {
            for (int left = 20; left > 0; --left) {
                co_await weir::yield();
            }
            flag = true;
        };
        auto poller = [&flag]() -> weir::task<> {
            while (!flag) {
                co_await weir::yield();
            }
        };
        auto body_of_group = [&](weir::task_group& group) -> weir::task<> {
            group.spawn(poller);
            group.spawn(setter);
            group.spawn(poller);
            co_return;
        };
        co_await weir::with_group(body_of_group);
    };
    const exploration found = explore(body, {.schedules = 400, .most_steps = 50'000});
    EXPECT_FALSE(found.failed) << found.text();
}

TEST(Explore, OrdinaryOrderOnDemand) {
    auto body = []() -> weir::task<> {
        weir::testing::in_ordinary_order();
        co_await racing_body();
    };
    EXPECT_FALSE(explore(body, {.schedules = 200}).failed);
}

TEST(Explore, OnceIsEnoughOnDemand) {
    if (std::getenv("WEIR_SEED") != nullptr) {
        GTEST_SKIP() << "one schedule was asked for";
    }
    const char* const former = std::getenv("WEIR_SCHEDULES");
    const std::string kept = former != nullptr ? former : "";
    ::setenv("WEIR_SCHEDULES", "5", 1);
    int all = 0;
    int once = 0;
    weir::testing::run_test([&all]() -> weir::task<> {
        ++all;
        co_return;
    });
    weir::testing::run_test([&once]() -> weir::task<> {
        weir::testing::once_is_enough();
        ++once;
        co_return;
    });
    ::setenv("WEIR_SCHEDULES", kept.c_str(), 1);
    EXPECT_EQ(all, 5);
    EXPECT_EQ(once, 1);
}

WEIR_TEST(Explore, ExploreInsideALoopIsMisuse) {
    EXPECT_THROW(explore([]() -> weir::task<> { co_return; }), weir::loop_error);
    co_return;
}

}  // namespace
