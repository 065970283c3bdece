// SPDX-License-Identifier: MIT
// What WEIR_TEST finds: each kind of failure in a small body that has it, seen through explore().

#include <weir/testing/testing.hpp>

#include <stdexcept>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using weir::testing::exploration;
using weir::testing::explore;

bool mentions(const exploration& found, std::string_view text) {
    return found.text().find(text) != std::string::npos;
}

weir::task<> waits_for_ever() {
    co_await weir::sleep_forever();
}

TEST(Testing, PassesWhatIsRight) {
    auto body = []() -> weir::task<> {
        co_await weir::sleep(1h);
        EXPECT_EQ(1, 1);
    };
    const exploration found = explore(body, {.schedules = 50});
    EXPECT_FALSE(found.failed) << found.text();
    EXPECT_EQ(found.schedules_run, 50u);
}

TEST(Testing, ExpectationsCountAndStayInside) {
    auto body = []() -> weir::task<> {
        EXPECT_EQ(1, 2) << "of course";
        co_return;
    };
    const exploration found = explore(body);
    EXPECT_TRUE(found.failed);
    EXPECT_EQ(found.schedules_run, 1u);
    EXPECT_EQ(found.messages.size(), 1u);
    EXPECT_TRUE(mentions(found, "of course"));
    EXPECT_TRUE(mentions(found, "testing_test.cpp:"));
    EXPECT_FALSE(::testing::Test::HasFailure());
}

TEST(Testing, AssertionsLeaveTheCoroutine) {
    bool went_on = false;
    auto body = [&]() -> weir::task<> {
        WEIR_ASSERT_EQ(1, 2);
        went_on = true;
    };
    EXPECT_TRUE(explore(body).failed);
    EXPECT_FALSE(went_on);
}

TEST(Testing, DeadlockPrintsTheTree) {
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

TEST(Testing, TasksLeftRunningPrintTheTree) {
    auto body = []() -> weir::task<> {
        weir::spawn(waits_for_ever(), {.name = "forgotten"});
        co_return;
    };
    const exploration found = explore(body, {.schedules = 5});
    EXPECT_TRUE(found.failed);
    EXPECT_TRUE(mentions(found, "left tasks running")) << found.text();
    EXPECT_TRUE(mentions(found, "forgotten")) << found.text();
}

TEST(Testing, ExceptionsAreFailures) {
    auto body = []() -> weir::task<> {
        co_await weir::yield();
        throw std::runtime_error("unexpected");
    };
    EXPECT_TRUE(mentions(explore(body), "unexpected"));
}

TEST(Testing, ACancelledTestHasFailed) {
    auto body = []() -> weir::task<> {
        weir::current_task().cancel("not wanted");
        co_await weir::yield();
    };
    const exploration found = explore(body);
    EXPECT_TRUE(mentions(found, "cancelled: not wanted")) << found.text();
}

TEST(Testing, LivelocksEnd) {
    auto body = []() -> weir::task<> {
        for (;;) {
            co_await weir::yield();
        }
    };
    const exploration found = explore(body, {.most_steps = 1000});
    EXPECT_TRUE(mentions(found, "after 1000 steps")) << found.text();
}

weir::task<> fails() {
    co_await weir::yield();
    throw std::runtime_error("unhandled");
}

TEST(Testing, DebugFindsTasksNeverAwaited) {
    auto body = []() -> weir::task<> {
        (void)fails();
        co_return;
    };
    EXPECT_FALSE(explore(body, {.schedules = 1}).failed);
    EXPECT_TRUE(mentions(explore(body, {.schedules = 1, .debug = true}), "never awaited"));
}

}  // namespace
