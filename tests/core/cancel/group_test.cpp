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

// Runs the work, handles its error, and then waits: where a stop that was not answered takes
// effect.
task<> handles_errors(lines& log, task<> work) {
    try {
        co_await std::move(work);
    } catch (const weir::error_group& errors) {
        log.push_back("handled " + std::to_string(errors.errors().size()));
    }
    co_await weir::sleep(1h);
    log.push_back("ran on");
}

WEIR_TEST(Group, AStopInTheTurnOfAFailureIsDeliveredAfterTheErrors) {
    lines log;
    weir::event go;
    weir::handle<> parent;
    auto child = [&]() -> task<> {
        co_await go.wait();
        parent.cancel("outside");
        throw std::runtime_error("child");
    };
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(child);
        co_await weir::sleep_forever();
    };
    parent = weir::spawn(handles_errors(log, weir::with_group(body)));
    co_await weir::sleep(1s);
    go.set();
    co_await parent.wait();
    EXPECT_TRUE(parent.cancelled());
    EXPECT_EQ(log, (lines{"handled 1"}));
    WEIR_EXPECT_THROW(parent, weir::cancelled);
}

// A child fails after one second, and the body then cleans up for another one.
task<> fails_and_cleans_up() {
    auto cleanup = []() -> task<> { co_await weir::sleep(1s); };
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(fail_after(1s, "child"));
        co_await weir::finally(weir::sleep_forever(), cleanup);
    };
    co_await weir::with_group(body);
}

WEIR_TEST(Group, AStopWhileTheBodyCleansUpAfterAFailureIsDeliveredAfterTheErrors) {
    lines log;
    const std::string end =
        co_await ending_after_cancel(1500ms, handles_errors(log, fails_and_cleans_up()));
    EXPECT_EQ(end, "cancelled");
    WEIR_EXPECT_THROW(weir::timeout(1500ms, handles_errors(log, fails_and_cleans_up())),
                      weir::timed_out);
    EXPECT_EQ(log, (lines{"handled 1", "handled 1"}));
}

WEIR_TEST(Group, AChildThatHadFailedBeforeTheStopDoesNotAnswerIt) {
    lines log;
    auto cleanup = []() -> task<> { co_await weir::sleep(2s); };
    auto fails = [&]() -> task<> { co_await weir::finally(fail_after(1s, "early"), cleanup); };
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(fails);
        co_await weir::sleep_forever();
    };
    const std::string end =
        co_await ending_after_cancel(2s, handles_errors(log, weir::with_group(body)));
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"handled 1"}));
}

WEIR_TEST(Group, AStopIsAnsweredIfAllErrorsAreAnswersToIt) {
    lines log;
    auto throws = []() -> task<> {
        co_await weir::sleep(1s);
        throw std::runtime_error("of the clean-up");
    };
    auto answers = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), throws); };
    auto early = [&]() -> task<> {
        auto cleanup = []() -> task<> { co_await weir::sleep(5s); };
        co_await weir::finally(fail_after(1s, "early"), cleanup);
    };
    for (const bool one_failed_before : {false, true}) {
        log.clear();
        auto body = [&](weir::task_group& group) -> task<> {
            group.spawn(answers);
            if (one_failed_before) {
                group.spawn(early);
            } else {
                group.spawn(answers);
            }
            co_await weir::sleep_forever();
        };
        const std::string end =
            co_await ending_after_cancel(2s, handles_errors(log, weir::with_group(body)));
        EXPECT_EQ(end, one_failed_before ? "cancelled" : "value");
        EXPECT_EQ(log.front(), "handled 2");
        EXPECT_EQ(log.size(), one_failed_before ? 1u : 2u);
    }
}

// The group stops its children by itself: their errors are answers to that, and to nothing else.
WEIR_TEST(Group, AStopThatFindsTheGroupCancelledIsNotAnsweredByItsErrors) {
    lines log;
    auto throws = []() -> task<> {
        co_await weir::sleep(2s);
        throw std::runtime_error("of the clean-up");
    };
    auto child = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), throws); };
    for (const bool body_waits : {false, true}) {
        log.clear();
        auto body = [&](weir::task_group& group) -> task<> {
            group.spawn(child);
            co_await weir::sleep(1s);
            group.cancel();
            if (body_waits) {
                (void)co_await weir::intercept(weir::sleep_forever());
                co_await weir::sleep(1h);
            }
        };
        const std::string end =
            co_await ending_after_cancel(2s, handles_errors(log, weir::with_group(body)));
        EXPECT_EQ(end, "cancelled");
        EXPECT_EQ(log, (lines{"handled 1"}));
    }
}

WEIR_TEST(Group, ASecondStopWhileOneIsHeldReplacesNothing) {
    lines log;
    auto cleanup = []() -> task<> { co_await weir::sleep(3s); };
    auto child = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), cleanup); };
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(child);
        co_await weir::sleep_forever();
    };
    auto work = [&]() -> task<> {
        try {
            co_await weir::timeout(2s, weir::with_group(body));
        } catch (const weir::timed_out&) {
            log.push_back("timed out");
        }
        co_await weir::sleep(1h);
        log.push_back("ran on");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_TRUE(log.empty());
}

WEIR_TEST(Group, ACaughtStopThatTheBodyThrowsAgainIsNotLost) {
    for (const bool a_child_fails : {false, true}) {
        lines log;
        auto body = [&](weir::task_group& group) -> task<> {
            if (a_child_fails) {
                group.spawn(fail_after(2s, "meanwhile"));
            }
            std::exception_ptr caught;
            try {
                co_await weir::catchable(weir::sleep_forever());
            } catch (const weir::cancelled&) {
                caught = std::current_exception();
            }
            (void)co_await weir::intercept(weir::sleep(3s));
            std::rethrow_exception(caught);
        };
        auto parent = weir::spawn(handles_errors(log, weir::with_group(body)));
        co_await weir::sleep(1s);
        parent.cancel("because");
        co_await parent.wait();
        EXPECT_TRUE(parent.cancelled());
        EXPECT_EQ(log, a_child_fails ? (lines{"handled 1"}) : lines());
        std::string reason;
        try {
            co_await parent;
        } catch (const weir::cancelled& stop) {
            reason = stop.reason();
        }
        EXPECT_EQ(reason, "because");
    }
}

WEIR_TEST(Group, PassesTheReasonOnToItsChildren) {
    std::string seen;
    auto child = [&]() -> task<> {
        weir::outcome<> ended = co_await weir::intercept(weir::sleep_forever());
        seen = ended.reason();
    };
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(child);
        co_await weir::sleep_forever();
    };
    auto work = [&]() -> task<> { co_await weir::with_group(body); };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel("because");
    co_await started.wait();
    EXPECT_EQ(seen, "because");
}

WEIR_TEST(Group, AStopBeatsTheCancellationOfAnotherTaskThatTheBodyThrew) {
    auto cleanup = []() -> task<> { co_await weir::sleep(3s); };
    auto child = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), cleanup); };
    auto victim = weir::spawn(weir::sleep(1h, 0));
    victim.cancel();
    co_await victim.wait();
    auto body = [&](weir::task_group& group) -> task<> {
        group.spawn(child);
        co_await weir::sleep(1s);
        (void)co_await victim;
    };
    bool ran_on = false;
    auto work = [&]() -> task<> {
        try {
            co_await weir::with_group(body);
        } catch (const weir::cancelled&) {
            ran_on = true;
        }
        co_await weir::sleep(1h);
    };
    const std::string end = co_await ending_after_cancel(2s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_FALSE(ran_on);
}

// The body is a function that returns a task: it may cancel the group before it does.
WEIR_TEST(Group, IsCancelledWhileItsBodyIsMade) {
    lines log;
    auto work = [&]() -> task<> {
        log.push_back("started");
        co_await weir::sleep(1h);
        log.push_back("never");
    };
    auto body = [&](weir::task_group& group) -> task<> {
        group.cancel();
        return work();
    };
    const auto start = weir::now();
    co_await weir::with_group(body);
    EXPECT_EQ(weir::now(), start);
    EXPECT_EQ(log, (lines{"started"}));
}

}  // namespace
