// SPDX-License-Identifier: MIT
// What boundaries do with a stop: finally, with, settle, intercept, catchable, groups.

#include "support.hpp"

namespace {

using namespace cancel_tests;
using weir::ending;
using weir::task;

std::string name_of(ending how) {
    return how == ending::value ? "value" : how == ending::error ? "error" : "stopped";
}

// ---- finally
// -------------------------------------------------------------------------------------

WEIR_TEST(Finally, IsToldHowTheWorkEnded) {
    lines log;
    auto cleanup = [&](ending how) -> task<> {
        co_await weir::sleep(1s);
        log.push_back(name_of(how));
    };
    const int got = co_await weir::finally(nap(log, 1s), cleanup);
    EXPECT_EQ(got, 1);
    WEIR_EXPECT_THROW(weir::finally(fail_after(1s, "x"), cleanup), std::runtime_error);
    auto stopped = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    const std::string end = co_await ending_after_cancel(1s, stopped());
    EXPECT_EQ(end, "cancelled");
    auto caught = [&]() -> task<> {
        co_await weir::finally(weir::catchable(weir::sleep_forever()), cleanup);
    };
    const std::string thrown = co_await ending_after_cancel(1s, caught());
    EXPECT_EQ(thrown, "cancelled");
    EXPECT_EQ(log, (lines{"woke", "value", "error", "stopped", "stopped"}));
}

WEIR_TEST(Finally, CleanupIsShieldedAndTheStopGoesOnAfterIt) {
    lines log;
    auto cleanup = [&]() -> task<> {
        co_await weir::sleep(2s);
        log.push_back("cleaned");
    };
    auto work = [&]() -> task<> {
        noted gone(log, "frame gone");
        (void)co_await weir::finally(nap(log, 1h), cleanup);
        log.push_back("never");
    };
    auto started = weir::spawn(work);
    for (int repeat = 0; repeat < 3; ++repeat) {
        co_await weir::sleep(1s);
        started.cancel();  // the second and third come during the clean-up
    }
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(log, (lines{"cleaned", "frame gone"}));
}

WEIR_TEST(Finally, AStopDuringTheCleanupOfAValueBeatsTheValue) {
    lines log;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 2s, "cleaned"); };
    auto work = [&]() -> task<> {
        (void)co_await weir::finally(nap(log, 1s), cleanup);
        log.push_back("never");
    };
    const std::string end = co_await ending_after_cancel(2s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"woke", "cleaned"}));
}

WEIR_TEST(Finally, CleanupThatThrowsReplacesTheStop) {
    auto cleanup = []() -> task<> { co_await fail_after(1s, "of the clean-up"); };
    auto at_once = []() -> task<> { throw std::runtime_error("made no task"); };
    struct thrower {
        task<> operator()() const { throw std::logic_error("before the task"); }
    } before;
    lines log;
    auto first = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto second = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), at_once); };
    auto third = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), before); };
    const std::string one = co_await ending_after_cancel(1s, first());
    const std::string two = co_await ending_after_cancel(1s, second());
    const std::string three = co_await ending_after_cancel(1s, third());
    EXPECT_EQ(one, "of the clean-up");
    EXPECT_EQ(two, "made no task");
    EXPECT_EQ(three, "before the task");
}

WEIR_TEST(Finally, AnOuterRequestDuringTheCleanupOfAnInnerStopWins) {
    lines log;
    weir::cancel_scope scope;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 2s, "cleaned"); };
    auto inner = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto work = [&]() -> task<> {
        co_await scope.run(inner());
        log.push_back("never");
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    scope.cancel();
    co_await weir::sleep(1s);
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(log, (lines{"cleaned"}));
}

WEIR_TEST(Finally, AcceptsATaskAndRunsItOnce) {
    lines log;
    auto work = [&]() -> task<> {
        (void)co_await weir::finally(nap(log, 1h), weir::detail::to_task(fail_after(1s, "once")));
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "once");
    EXPECT_EQ(weir::now().time_since_epoch(), 2s);
}

// ---- with
// ----------------------------------------------------------------------------------------

struct connection {
    lines& log;

    task<> open() {
        co_await weir::sleep(1s);
        log.push_back("opened");
    }
    task<> close(ending how) {
        co_await weir::sleep(1s);
        log.push_back("closed: " + name_of(how));
    }
};

WEIR_TEST(With, ClosesHoweverTheBodyEnds) {
    lines log;
    connection to{log};
    auto uses = [&](connection&) -> task<int> { co_return 5; };
    auto fails = [&](connection&) -> task<int> {
        throw std::runtime_error("x");
        co_return 1;
    };
    auto waits = [&](connection&) -> task<int> { co_return co_await nap(log, 1h); };
    struct thrower {
        task<int> operator()(connection&) const { throw std::logic_error("before the task"); }
    } before;
    const int got = co_await weir::with(to, uses);
    EXPECT_EQ(got, 5);
    WEIR_EXPECT_THROW(weir::with(to, fails), std::runtime_error);
    WEIR_EXPECT_THROW(weir::with(to, before), std::logic_error);
    const std::string end = co_await ending_after_cancel(2s, weir::with(to, waits));
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"opened", "closed: value", "opened", "closed: error", "opened",
                          "closed: error", "opened", "closed: stopped"}));
}

WEIR_TEST(With, WhatWasNotOpenedIsNotClosed) {
    lines log;
    connection to{log};
    auto uses = [&](connection&) -> task<> { co_return; };
    const std::string end = co_await ending_after_cancel(500ms, weir::with(to, uses));
    EXPECT_EQ(end, "cancelled");
    EXPECT_TRUE(log.empty());
}

struct file {
    lines* log;
    task<> close() {
        co_await weir::sleep(1s);
        log->push_back("closed");
    }
};

WEIR_TEST(With, OwnsWhatATaskOpens) {
    lines log;
    auto open = [&]() -> task<file> {
        co_await weir::sleep(1s);
        co_return file{&log};
    };
    auto waits = [&](file&) -> task<> { co_await weir::sleep_forever(); };
    auto work = [&]() -> task<> { co_await weir::with(open(), waits); };
    const std::string end = co_await ending_after_cancel(2s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"closed"}));
}

// ---- settle
// --------------------------------------------------------------------------------------

WEIR_TEST(Settle, LetsTheFibersOwnStopPass) {
    lines log;
    int attempts = 0;
    auto work = [&]() -> task<> {
        for (;;) {  // a retry loop
            ++attempts;
            (void)co_await weir::settle(fail_after(1s, "again"));
        }
    };
    const std::string end = co_await ending_after_cancel(3500ms, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(attempts, 4);
}

WEIR_TEST(Settle, ShowsValueErrorAndAnotherFibersCancellation) {
    lines log;
    weir::outcome<int> value = co_await weir::settle(nap(log, 1s));
    EXPECT_EQ(value.value(), 1);
    weir::outcome<> error = co_await weir::settle(fail_after(1s, "x"));
    EXPECT_TRUE(error.has_error());
    auto other = weir::spawn(nap(log, 1h));
    other.cancel("too slow");
    weir::outcome<int> cancelled = co_await weir::settle(other);
    EXPECT_TRUE(cancelled.is_cancelled());
    EXPECT_FALSE(cancelled.is_stop());
    EXPECT_EQ(cancelled.reason(), "too slow");
    co_await weir::sleep(1s);
}

WEIR_TEST(Settle, ShowsTheErrorThatReplacedAStop) {
    auto cleanup = []() -> task<> { co_await fail_after(1s, "of the clean-up"); };
    auto with_finally = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), cleanup); };
    std::string seen;
    auto work = [&]() -> task<> {
        weir::outcome<> ended = co_await weir::settle(with_finally());
        seen = weir::describe(ended.error());
        co_await weir::sleep(1s);
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "value");
    EXPECT_EQ(seen, "of the clean-up");
}

// ---- intercept
// -----------------------------------------------------------------------------------

WEIR_TEST(Intercept, TheFiberGoesOnNormallyUntilTheNextRequest) {
    lines log;
    auto work = [&]() -> task<> {
        weir::outcome<int> first = co_await weir::intercept(nap(log, 1h));
        EXPECT_TRUE(first.is_stop());
        EXPECT_EQ(first.reason(), "once");
        co_await weir::sleep(1s);
        log.push_back("went on");
        weir::outcome<int> second = co_await weir::intercept(nap(log, 1h));
        EXPECT_TRUE(second.is_stop());
        log.push_back("again");
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel("once");
    co_await weir::sleep(2s);
    started.cancel();
    co_await started;
    EXPECT_EQ(log, (lines{"went on", "again"}));
    EXPECT_EQ(started.cancelling(), 2u);
}

WEIR_TEST(Intercept, AwaitingTheOutcomeResumesTheStop) {
    lines log;
    auto work = [&]() -> task<> {
        noted gone(log, "gone");
        weir::outcome<int> ended = co_await weir::intercept(nap(log, 1h));
        co_await weir::sleep(1s);
        log.push_back("cleaned up");
        const int never = co_await std::move(ended);
        log.push_back("never " + std::to_string(never));
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"cleaned up", "gone"}));
}

WEIR_TEST(Intercept, AwaitingTheOutcomeResumesTheStopOfTheScopeItWasAimedAt) {
    lines log;
    weir::cancel_scope outer;
    weir::cancel_scope inner(1s);
    auto innermost = [&]() -> task<> {
        weir::outcome<int> ended = co_await weir::intercept(nap(log, 1h));
        co_await weir::sleep(1s);
        (void)co_await std::move(ended);
        log.push_back("never");
    };
    auto middle = [&]() -> task<> {
        const bool ended = co_await inner.run(innermost());
        log.push_back(ended ? "ended" : "inner stopped");
        co_await weir::sleep(1s);
    };
    const bool ended = co_await outer.run(middle());
    EXPECT_TRUE(ended);
    EXPECT_TRUE(inner.caught());
    EXPECT_EQ(log, (lines{"inner stopped"}));
}

WEIR_TEST(Intercept, AfterItsScopeIsGoneTheOutcomeThrows) {
    std::optional<weir::outcome<int>> kept;
    lines log;
    auto innermost = [&]() -> task<> { kept.emplace(co_await weir::intercept(nap(log, 1h))); };
    co_await weir::timeout(1s, innermost());
    auto later = [&]() -> task<> { (void)co_await std::move(*kept); };
    bool thrown = false;
    // Another scope may live where the first one did: it must not be hit.
    weir::cancel_scope other;
    auto in_other = [&]() -> task<> {
        try {
            co_await later();
        } catch (const weir::cancelled&) {
            thrown = true;
        }
        co_await weir::sleep(1s);
    };
    const bool ended = co_await weir::timeout(1h, other.run(in_other()));
    EXPECT_TRUE(ended);
    EXPECT_TRUE(thrown);
}

WEIR_TEST(Intercept, OnAnotherFiberTheOutcomeThrows) {
    lines log;
    auto work = [&]() -> task<weir::outcome<int>> {
        weir::outcome<int> ended = co_await weir::intercept(nap(log, 1h));
        co_return ended;
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    weir::outcome<int> ended = co_await std::move(started);
    started = {};
    auto unwrap = [](weir::outcome<int> from) -> task<> { (void)co_await std::move(from); };
    // A new fiber, perhaps where the first one was.
    auto other = weir::spawn([&]() -> task<> {
        WEIR_EXPECT_THROW(unwrap(std::move(ended)), weir::cancelled);
        co_await weir::sleep(1s);
        log.push_back("went on");
    });
    co_await other.wait();
    EXPECT_FALSE(other.cancelled());
    EXPECT_EQ(log, (lines{"went on"}));
}

WEIR_TEST(Intercept, InsideAShieldTheOutcomeThrowsAndTheStopFollows) {
    lines log;
    auto shielded = [&](weir::outcome<int> ended) -> task<> {
        try {
            (void)co_await std::move(ended);
        } catch (const weir::cancelled&) {
            log.push_back("thrown");
        }
        co_await weir::sleep(1s);
        log.push_back("shield done");
    };
    auto work = [&]() -> task<> {
        weir::outcome<int> ended = co_await weir::intercept(nap(log, 1h));
        co_await weir::shield(shielded(std::move(ended)));
        log.push_back("never");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"thrown", "shield done"}));
}

WEIR_TEST(Intercept, AwaitingTheOutcomeStopsAlsoWhenTheFibersShareIsUsedUp) {
    lines log;
    auto work = [&]() -> task<> {
        weir::outcome<int> ended = co_await weir::intercept(nap(log, 1h));
        plan free{.is_ready = true};
        for (int repeat = 0; repeat < 255; ++repeat) {
            co_await planned(free);
        }
        for (int repeat = 0; repeat < 3; ++repeat) {
            weir::outcome<> fine = weir::outcome<>::from_value();
            co_await std::move(fine);
        }
        (void)co_await std::move(ended);
        log.push_back("never");
    };
    auto direct = [&]() -> task<> {
        weir::outcome<int> ended = co_await weir::intercept(nap(log, 1h));
        plan free{.is_ready = true};
        for (int repeat = 0; repeat < 256; ++repeat) {
            co_await planned(free);
        }
        try {
            (void)co_await std::move(ended);
        } catch (const weir::cancelled&) {
            log.push_back("never thrown");
        }
    };
    const std::string one = co_await ending_after_cancel(1s, work());
    const std::string two = co_await ending_after_cancel(1s, direct());
    EXPECT_EQ(one, "cancelled");
    EXPECT_EQ(two, "cancelled");
    EXPECT_TRUE(log.empty());
}

// ---- catchable
// -----------------------------------------------------------------------------------

WEIR_TEST(Catchable, ThrowsCancelledInThisFrameOnly) {
    lines log;
    auto inner = [&]() -> task<> {
        noted gone(log, "inner gone");
        try {
            co_await weir::sleep_forever();
        } catch (...) {
            log.push_back("never");
        }
    };
    auto work = [&]() -> task<> {
        try {
            co_await weir::catchable(inner());
        } catch (const std::exception&) {
            log.push_back("never");
        } catch (const weir::cancelled& stop) {
            log.push_back("caught " + stop.reason());
            throw;
        }
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel("why");
    std::string reason;
    try {
        co_await started;
    } catch (const weir::cancelled& stop) {
        reason = stop.reason();
    }
    EXPECT_TRUE(started.cancelled()) << "a cancelled that leaves the fiber ends it as cancelled";
    EXPECT_EQ(reason, "why");
    EXPECT_EQ(log, (lines{"inner gone", "caught why"}));
}

// ---- groups
// --------------------------------------------------------------------------------------

WEIR_TEST(GroupStop, StopsBodyAndChildrenAndWaitsForTheirCleanup) {
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

WEIR_TEST(GroupStop, CancelOfTheGroupIsNotSeenOutside) {
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

WEIR_TEST(GroupStop, ARequestForAScopeInsideTheBodyLeavesTheChildrenAlone) {
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

WEIR_TEST(GroupStop, ABodyThatThrowsBeforeItIsATaskStillJoinsItsChildren) {
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

WEIR_TEST(GroupStop, AStopWhileItJoinsAfterAFailureIsNotLost) {
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

WEIR_TEST(Catchable, GivesReferencesAsTheyAre) {
    int number = 4;
    auto refers = [&]() -> task<int&> { co_return number; };
    int& same = co_await weir::catchable(refers());
    EXPECT_EQ(&same, &number);
}

WEIR_TEST(With, OpensWhateverOpenGives) {
    struct door {
        bool is_open = false;
        task<bool> open() {
            is_open = true;
            co_return true;
        }
        task<> close() { co_return; }
    };
    door front;
    auto body = [](door& used) -> task<bool> { co_return used.is_open; };
    const bool was_open = co_await weir::with(front, body);
    EXPECT_TRUE(was_open);
}

}  // namespace
