// SPDX-License-Identifier: MIT
// Task groups: how they join, fail and are stopped.

#include "support.hpp"

#include <weir/testing/testing.hpp>

namespace {

using namespace cancel_tests;
using weir::ending;
using weir::task;
using namespace std::chrono_literals;

WEIR_TEST(Group, StopsBodyAndChildrenAndWaitsForTheirCleanup) {
    lines log;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 2s, "child cleaned"); };
    auto child = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto body = [&](weir::task_group& group) -> task<> {
        noted gone(log, "body gone");
        group.spawn(child);
        co_await weir::sleep_forever();
    };
    auto work = [&]() -> task<> {
        noted gone(log, "frame gone");
        co_await weir::with_group(body);
        log.push_back("never");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"body gone", "child cleaned", "frame gone"}));
}

WEIR_TEST(Group, CancelOfTheGroupIsNotSeenOutside) {
    lines log;
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn([](lines& to) -> task<> { (void)co_await nap(to, 1h); }, std::ref(log));
        group.cancel();
        co_await weir::sleep_forever();
    };
    co_await weir::with_group(body);
    auto catching = [&](weir::task_group& group) -> task<> {
        group.cancel();
        co_await weir::catchable(weir::sleep_forever());
    };
    co_await weir::with_group(catching);
    co_await weir::sleep(1s);
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
    EXPECT_TRUE(log.empty());
}

WEIR_TEST(Group, ARequestForAScopeInsideTheBodyLeavesTheChildrenAlone) {
    lines log;
    auto waits = [&]() -> task<> { (void)co_await nap(log, 3s, "child done"); };
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(waits);
        WEIR_EXPECT_THROW(weir::timeout(1s, nap(log, 1h)), weir::timed_out);
        log.push_back("body goes on");
    };
    co_await weir::with_group(body);
    EXPECT_EQ(log, (lines{"body goes on", "child done"}));
}

WEIR_TEST(Group, ABodyThatThrowsBeforeItIsATaskStillJoinsItsChildren) {
    lines log;
    struct thrower {
        lines& log;
        task<> operator()(weir::task_group& group) const {
            group.spawn(
                [](lines& to) -> task<> {
                    noted gone(to, "child gone");
                    co_await weir::sleep_forever();
                },
                std::ref(log));
            throw std::logic_error("before the task");
        }
    } body{log};
    WEIR_EXPECT_THROW(weir::with_group(body), weir::error_group);
    EXPECT_TRUE(log.empty()) << "cancelled before its first step";
}

WEIR_TEST(Group, AStopWhileItJoinsAfterAFailureIsNotLost) {
    lines log;
    auto cleanup = [&]() -> task<> { co_await weir::sleep(3s); };
    auto slow = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(slow);
        co_await weir::sleep(1s);
        group.cancel();
        co_await weir::sleep_forever();
    };
    auto work = [&]() -> task<> {
        co_await weir::with_group(body);
        log.push_back("never");
    };
    const std::string end = co_await ending_after_cancel(2s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_TRUE(log.empty());
}

WEIR_TEST(Group, JoinsAndCollectsErrors) {
    int ended = 0;
    auto child = [&](bool fails) -> weir::task<> {
        co_await weir::sleep(fails ? 2s : 1s);  // the failure stops the unfinished children
        ++ended;
        if (fails) {
            throw std::runtime_error("child failed");
        }
    };
    WEIR_EXPECT_THROW(weir::with_group([&](weir::task_group& group) -> weir::task<> {
                          group.spawn(child, false);
                          group.spawn(child, true);
                          co_return;
                      }),
                      weir::error_group);
    EXPECT_EQ(ended, 2);
}

}  // namespace
