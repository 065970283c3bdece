// SPDX-License-Identifier: MIT
// What the kit finds: each kind of failure in a small body that has it, seen through explore().

#include "core/debug/explorer.hpp"

#include <weir/base/timer_wheel.hpp>
#include <weir/testing/testing.hpp>

#include <cstdlib>
#include <set>

namespace {

using namespace std::chrono_literals;
using weir::testing::exploration;
using weir::testing::explore;
using weir::testing::replay;

bool mentions(const exploration& found, std::string_view text) {
    return found.text().find(text) != std::string::npos;
}

weir::task<> waits_for_ever() {
    co_await weir::sleep_forever();
}

TEST(Kit, PassesWhatIsRight) {
    auto body = []() -> weir::task<> {
        co_await weir::sleep(1h);
        EXPECT_EQ(1, 1);
    };
    const exploration found = explore(body, {.schedules = 50});
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_EQ(found.schedules_run, 50u);
}

TEST(Kit, ExpectationsCountAndStayInside) {
    auto body = []() -> weir::task<> {
        EXPECT_EQ(1, 2) << "of course";
        co_return;
    };
    const exploration found = explore(body);
    EXPECT_TRUE(found.failed);
    EXPECT_EQ(found.schedules_run, 1u);
    EXPECT_EQ(found.messages.size(), 1u);
    EXPECT_TRUE(mentions(found, "of course"));
    EXPECT_TRUE(mentions(found, "kit_test.cpp:"));
    EXPECT_FALSE(::testing::Test::HasFailure());
}

TEST(Kit, AssertionsLeaveTheCoroutine) {
    bool went_on = false;
    auto body = [&]() -> weir::task<> {
        WEIR_ASSERT_EQ(1, 2);
        went_on = true;
    };
    EXPECT_TRUE(explore(body).failed);
    EXPECT_FALSE(went_on);
}

TEST(Kit, DeadlockPrintsTheTree) {
    auto body = []() -> weir::task<> {
        auto stuck = weir::spawn(waits_for_ever(), {.name = "the stuck one"});
        co_await stuck.wait();
    };
    const exploration found = explore(body, {.schedules = 5});
    EXPECT_TRUE(found.failed);
    EXPECT_TRUE(mentions(found, "deadlock")) << found.text();
    EXPECT_TRUE(mentions(found, "the stuck one")) << found.text();
    EXPECT_TRUE(mentions(found, "waits_for_ever")) << found.text();
}

TEST(Kit, TasksLeftRunningPrintTheTree) {
    auto body = []() -> weir::task<> {
        weir::spawn(waits_for_ever(), {.name = "forgotten"});
        co_return;
    };
    const exploration found = explore(body, {.schedules = 5});
    EXPECT_TRUE(found.failed);
    EXPECT_TRUE(mentions(found, "left tasks running")) << found.text();
    EXPECT_TRUE(mentions(found, "forgotten")) << found.text();
}

TEST(Kit, ExceptionsAreFailures) {
    auto body = []() -> weir::task<> {
        co_await weir::yield();
        throw std::runtime_error("unexpected");
    };
    EXPECT_TRUE(mentions(explore(body), "unexpected"));
}

TEST(Kit, ACancelledTestHasFailed) {
    auto body = []() -> weir::task<> {
        weir::current_task().cancel("not wanted");
        co_await weir::yield();
    };
    const exploration found = explore(body);
    EXPECT_TRUE(mentions(found, "cancelled: not wanted")) << found.text();
}

TEST(Kit, LivelocksEnd) {
    auto body = []() -> weir::task<> {
        for (;;) {
            co_await weir::yield();
        }
    };
    const exploration found = explore(body, {.most_steps = 1000});
    EXPECT_TRUE(mentions(found, "after 1000 steps")) << found.text();
}

// ---- reports -----------------------------------------------------------------------------------

weir::task<> fails() {
    co_await weir::yield();
    throw std::runtime_error("nobody asks");
}

TEST(Kit, ReportsAreFailures) {
    auto body = []() -> weir::task<> {
        weir::spawn(fails());
        co_await weir::testing::settle_all();
    };
    EXPECT_TRUE(mentions(explore(body), "nobody asks"));
}

TEST(Kit, ExpectedReportsAreNot) {
    auto body = []() -> weir::task<> {
        weir::testing::expect_report(weir::report_kind::unretrieved_error, "nobody asks");
        weir::spawn(fails());
        co_await weir::testing::settle_all();
        EXPECT_EQ(weir::testing::reports().size(), 1u);
    };
    const exploration found = explore(body, {.schedules = 20});
    EXPECT_FALSE(found.failed) << found.text();
}

TEST(Kit, ExpectedReportsMustCome) {
    auto body = []() -> weir::task<> {
        weir::testing::allow_report(weir::report_kind::callback_error);
        weir::testing::expect_report(weir::report_kind::unretrieved_error, "nobody asks", 2);
        weir::spawn(fails());
        co_await weir::testing::settle_all();
    };
    EXPECT_TRUE(mentions(explore(body), "expected 2 report(s)"));
}

TEST(Kit, OneTooManyIsAFailure) {
    auto body = []() -> weir::task<> {
        weir::testing::expect_report(weir::report_kind::unretrieved_error);
        weir::spawn(fails());
        weir::spawn(fails());
        co_await weir::testing::settle_all();
    };
    EXPECT_TRUE(explore(body).failed);
}

TEST(Kit, ReportsOutsideATestAreMisuse) {
    EXPECT_THROW(weir::testing::expect_report(weir::report_kind::shutdown), weir::invalid_state);
    EXPECT_THROW(weir::testing::in_ordinary_order(), weir::invalid_state);
}

TEST(Kit, DebugFindsTasksNeverAwaited) {
    auto body = []() -> weir::task<> {
        (void)fails();
        co_return;
    };
    EXPECT_FALSE(explore(body, {.schedules = 1}).failed);
    EXPECT_TRUE(mentions(explore(body, {.schedules = 1, .debug = true}), "never awaited"));
}

// ---- schedules ---------------------------------------------------------------------------------

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

TEST(Kit, FindsAnotherOrder) {
    const exploration found = explore(racing_body);
    EXPECT_TRUE(found.failed);
    EXPECT_NE(found.seed, 0u) << "the ordinary schedule is first in, first out";
    EXPECT_LT(found.schedules_run, 10u);
    EXPECT_TRUE(found.reproducible);
    EXPECT_GT(found.trace.size(), 4u);
}

TEST(Kit, ASeedIsASchedule) {
    const exploration found = explore(racing_body);
    const exploration first = replay(racing_body, found.seed);
    const exploration second = replay(racing_body, found.seed);
    EXPECT_TRUE(first.failed);
    EXPECT_EQ(first.messages, found.messages);
    EXPECT_EQ(first.trace, found.trace);
    EXPECT_EQ(second.trace, found.trace);
}

TEST(Kit, SeesThatARunCannotBeReproduced) {
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

TEST(Kit, NotesAreInTheTrace) {
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

TEST(Kit, ForcedYieldsComeBeforeTheEffect) {
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

struct lettered_timer final : weir::detail::timer {
    lettered_timer(char name, bool ordered) : letter(name), is_ordered(ordered) {}
    void fire() noexcept override {}
    bool keeps_order() const noexcept override { return is_ordered; }
    char letter;
    bool is_ordered;
};

TEST(Kit, EqualDeadlinesFireInAnyOrderButCallbacksKeepTheirs) {
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
        while (weir::detail::timer* due = wheel.pop_due(2000, &shuffle)) {
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
TEST(Kit, HoldsATaskBackForLong) {
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

TEST(Kit, PollingEndsUnderEverySchedule) {
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

TEST(Kit, OrdinaryOrderOnDemand) {
    auto body = []() -> weir::task<> {
        weir::testing::in_ordinary_order();
        co_await racing_body();
    };
    EXPECT_FALSE(explore(body, {.schedules = 200}).failed);
}

TEST(Kit, OnceIsEnoughOnDemand) {
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

WEIR_TEST(Kit, ExploreInsideALoopIsMisuse) {
    EXPECT_THROW(explore([]() -> weir::task<> { co_return; }), weir::loop_error);
    co_return;
}

}  // namespace
