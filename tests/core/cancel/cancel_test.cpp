// SPDX-License-Identifier: MIT
// Shields: they postpone a stop, once per level, and lose to errors.

#include "support.hpp"

#include <memory>

namespace {

using namespace cancel_tests;
using weir::task;

WEIR_TEST(Cancel, RunsTheTaskOnceAndThenLetsTheStopGoOn) {
    lines log;
    auto work = [&]() -> task<> {
        noted gone(log, "frame gone");
        const int got = co_await weir::shield(nap(log, 2s, "shielded"));
        log.push_back("never " + std::to_string(got));
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"shielded", "frame gone"}));
    EXPECT_EQ(weir::now().time_since_epoch(), 2s);
}

WEIR_TEST(Cancel, ARequestThatWasPendingBeforeItIsPostponedToo) {
    lines log;
    auto work = [&]() -> task<> {
        weir::current_task().cancel();
        (void)co_await weir::shield(nap(log, 2s, "shielded"));
        log.push_back("never");
    };
    auto started = weir::spawn(work);
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(log, (lines{"shielded"}));
}

WEIR_TEST(Cancel, ErrorBeatsThePostponedStop) {
    lines log;
    auto work = [&]() -> task<> {
        try {
            co_await weir::shield(fail_after(2s, "of the shielded"));
        } catch (const std::runtime_error& error) {
            log.push_back(error.what());
        }
        log.push_back("goes on");
        co_await weir::sleep(1s);
        log.push_back("never");  // the request is still there
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"of the shielded", "goes on"}));
    const std::string passed = co_await ending_after_cancel(
        1s, weir::detail::to_task(weir::shield(fail_after(2s, "passed"))));
    EXPECT_EQ(passed, "passed");
}

WEIR_TEST(Cancel, EachLevelHoldsOneRequest) {
    // Requests for the scope between the shields and for the fiber wait at their own level.
    lines log;
    weir::cancel_scope between;
    auto innermost = [&]() -> task<> {
        co_await weir::shield(nap(log, 3s, "inner shield done"));
        log.push_back("never");
    };
    auto shielded = [&]() -> task<> {
        const bool ended = co_await between.run(innermost());
        log.push_back(ended ? "ended" : "scope stopped");
        co_await weir::sleep(1s);
        log.push_back("outer shield done");
    };
    auto work = [&]() -> task<> {
        co_await weir::shield(shielded());
        log.push_back("never");
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    between.cancel();
    co_await weir::sleep(1s);
    between.cancel();
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(log, (lines{"inner shield done", "scope stopped", "outer shield done"}));
    EXPECT_EQ(weir::now().time_since_epoch(), 4s);
}

WEIR_TEST(Cancel, InsideItsOwnScopesWork) {
    lines log;
    auto shielded = [&]() -> task<> {
        WEIR_EXPECT_THROW(weir::timeout(1s, nap(log, 1h)), weir::timed_out);
        log.push_back("timed out inside");
    };
    auto work = [&]() -> task<> { co_await weir::shield(shielded()); };
    const std::string end = co_await ending_after_cancel(500ms, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"timed out inside"}));
}

WEIR_TEST(Cancel, ATimeoutOutsideWaitsForIt) {
    lines log;
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::shield(nap(log, 2s, "shielded"))), weir::timed_out);
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_EQ(log, (lines{"shielded"}));
}

WEIR_TEST(Cancel, OfAHandleLeavesAtOnceAndTheTaskRunsOn) {
    lines log;
    auto kept = weir::spawn(nap(log, 3s, "ran on"));
    auto work = [&]() -> task<> { (void)co_await weir::shield(kept); };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(weir::now().time_since_epoch(), 1s);
    EXPECT_EQ(kept.cancelling(), 0u);
    const int got = co_await kept;
    EXPECT_EQ(got, 1);
    EXPECT_EQ(log, (lines{"ran on"}));
}

WEIR_TEST(Cancel, OfAHandleGivesMoveOnlyValuesAndErrors) {
    auto make = []() -> task<std::unique_ptr<int>> {
        co_await weir::sleep(1s);
        co_return std::make_unique<int>(3);
    };
    const std::unique_ptr<int> got = co_await weir::shield(weir::spawn(make));
    EXPECT_EQ(*got, 3);
    WEIR_EXPECT_THROW(weir::shield(weir::spawn(fail_after(1s, "x"))), std::runtime_error);
}

WEIR_TEST(Cancel, AForeignCancellationInsideYieldsToThePostponedStop) {
    bool caught = false;
    auto victim = weir::spawn(weir::detail::to_task(weir::sleep_forever()));
    auto shielded = [&]() -> task<> {
        co_await victim.wait();
        co_await victim;
    };
    auto work = [&]() -> task<> {
        try {
            co_await weir::shield(shielded());
        } catch (const weir::cancelled&) {
            caught = true;
        }
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    co_await weir::sleep(1s);
    victim.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_FALSE(caught);
}

WEIR_TEST(Cancel, NoneOfManyNestedLevelsLeaks) {
    lines log;
    int depth = 0;
    auto level = [&](auto& self, int more) -> task<> {
        ++depth;
        if (more > 0) {
            co_await weir::shield(self(self, more - 1));
        } else {
            co_await weir::sleep(2s);
        }
        co_await weir::sleep(1s);
    };
    auto work = [&]() -> task<> {
        auto whole = level(level, 20);
        co_await weir::shield(std::move(whole));
        log.push_back("never");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_TRUE(log.empty());
    EXPECT_EQ(weir::now().time_since_epoch(), 23s) << "all of it ran to its end";
}

}  // namespace
