// SPDX-License-Identifier: MIT
// finally, with and defer: clean-up that runs however the work ends.

#include "support.hpp"

#include <memory>

namespace {

using namespace cancel_tests;
using weir::ending;
using weir::task;

std::string name_of(ending how) {
    return how == ending::value ? "value" : how == ending::error ? "error" : "stopped";
}

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

task<> note_later(lines& log, std::string what) {
    co_await weir::sleep(1s);
    log.push_back(what);
}
task<> fails_later(std::string what) {
    co_await weir::sleep(1s);
    throw std::runtime_error(what);
}

WEIR_TEST(Defer, RunsLastInFirstOutAfterTheLocals) {
    lines log;
    auto work = [&](bool throws) -> task<int> {
        noted local(log, "local gone");
        co_await weir::defer(note_later, std::ref(log), std::string("first"));
        co_await weir::defer(note_later, std::ref(log), std::string("second"));
        log.push_back("body");
        if (throws) {
            throw std::runtime_error("x");
        }
        co_return 4;
    };
    const lines expected{"body", "local gone", "second", "first"};
    const int got = co_await work(false);
    EXPECT_EQ(got, 4);
    EXPECT_EQ(log, expected);
    log.clear();
    WEIR_EXPECT_THROW(work(true), std::runtime_error);
    EXPECT_EQ(log, expected);
    log.clear();
    auto stopped = [&]() -> task<> {
        noted local(log, "local gone");
        co_await weir::defer(note_later, std::ref(log), std::string("first"));
        co_await weir::defer(note_later, std::ref(log), std::string("second"));
        log.push_back("body");
        co_await weir::sleep_forever();
    };
    const std::string end = co_await ending_after_cancel(1s, stopped());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, expected);
}

WEIR_TEST(Defer, OwnsItsData) {
    int seen = 0;
    auto use = [](std::unique_ptr<int> data, int& into) -> task<> {
        co_await weir::sleep(1s);
        into = *data;
    };
    auto work = [&]() -> task<> {
        auto data = std::make_unique<int>(9);
        co_await weir::defer(use, std::move(data), std::ref(seen));
        co_await weir::sleep_forever();
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(seen, 9);
}

WEIR_TEST(Defer, IsShieldedAndLaterRequestsAreAbsorbed) {
    lines log;
    auto work = [&]() -> task<> {
        noted local(log, "frame gone");
        co_await weir::defer(note_later, std::ref(log), std::string("cleaned"));
        co_await weir::sleep_forever();
    };
    auto caller = [&]() -> task<> {
        noted local(log, "caller gone");
        co_await work();
    };
    auto started = weir::spawn(caller);
    co_await weir::sleep(1s);
    started.cancel();
    co_await weir::sleep(500ms);
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(log, (lines{"frame gone", "cleaned", "caller gone"}));
}

WEIR_TEST(Defer, AStopDuringTheCleanupOfAValueBeatsTheValue) {
    lines log;
    auto work = [&]() -> task<int> {
        co_await weir::defer(note_later, std::ref(log), std::string("cleaned"));
        co_return 1;
    };
    auto caller = [&]() -> task<> {
        noted local(log, "caller gone");
        (void)co_await work();
        log.push_back("never");
    };
    const std::string end = co_await ending_after_cancel(500ms, caller());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"cleaned", "caller gone"}));
    log.clear();
    const std::string direct = co_await ending_after_cancel(500ms, work());
    EXPECT_EQ(direct, "cancelled");
    EXPECT_EQ(log, (lines{"cleaned"}));
    log.clear();
    auto bounded = [&]() -> task<> {
        (void)co_await weir::settle(work());
        log.push_back("never");
    };
    const std::string settled = co_await ending_after_cancel(500ms, bounded());
    EXPECT_EQ(settled, "cancelled");
    EXPECT_EQ(log, (lines{"cleaned"}));
}

WEIR_TEST(Defer, AllOfThemRunAndTheLastErrorWins) {
    int suppressed = 0;
    weir::loop::current().on_report([&](const weir::report& about) {
        suppressed += about.kind == weir::report_kind::suppressed_error ? 1 : 0;
    });
    lines log;
    struct thrower {
        task<> operator()() const { throw std::runtime_error("before the task"); }
    };
    auto work = [&](bool stops) -> task<> {
        co_await weir::defer(note_later, std::ref(log), std::string("last"));
        co_await weir::defer(fails_later, std::string("second error"));
        co_await weir::defer(thrower{});
        co_await weir::defer(note_later, std::ref(log), std::string("first"));
        if (stops) {
            co_await weir::sleep_forever();
        }
    };
    const std::string stopped = co_await ending_after_cancel(1s, work(true));
    EXPECT_EQ(stopped, "second error");
    EXPECT_EQ(log, (lines{"first", "last"}));
    const std::string ended = co_await ending_after_cancel(1s, work(false));
    EXPECT_EQ(ended, "second error");
    EXPECT_EQ(suppressed, 2);
    weir::loop::current().on_report({});
}

task<> stopped_with_failing_defer() {
    co_await weir::defer(fails_later, std::string("of the clean-up"));
    co_await weir::sleep_forever();
}

WEIR_TEST(ErrorBeatsStop, DeferFailsAndItsFramesCallerIsACoroutine) {
    lines log;
    auto caller = [&]() -> task<> {
        noted local(log, "caller gone");
        try {
            co_await stopped_with_failing_defer();
        } catch (const std::runtime_error& error) {
            log.push_back(error.what());
        }
        co_await weir::sleep(1s);
        log.push_back("the stop was replaced");
    };
    const std::string end = co_await ending_after_cancel(1s, caller());
    EXPECT_EQ(end, "value");
    EXPECT_EQ(log, (lines{"of the clean-up", "the stop was replaced", "caller gone"}));
}

WEIR_TEST(ErrorBeatsStop, DeferFailsAndItsFramesCallerIsABoundary) {
    const auto run = [](task<> work) { return ending_after_cancel(1s, std::move(work)); };
    auto timed = []() -> task<> { co_await weir::timeout(1h, stopped_with_failing_defer()); };
    std::string end = co_await run(timed());
    EXPECT_EQ(end, "of the clean-up");
    auto shielded = []() -> task<> {
        auto inner = []() -> task<> { co_await weir::timeout(2s, stopped_with_failing_defer()); };
        co_await weir::shield(inner());
    };
    end = co_await run(shielded());
    EXPECT_EQ(end, "of the clean-up");
    auto intercepted = []() -> task<> {
        weir::outcome<> ended = co_await weir::intercept(stopped_with_failing_defer());
        EXPECT_FALSE(ended.is_stop());
        co_await std::move(ended);
    };
    end = co_await run(intercepted());
    EXPECT_EQ(end, "of the clean-up");
    auto caught = []() -> task<> { co_await weir::catchable(stopped_with_failing_defer()); };
    end = co_await run(caught());
    EXPECT_EQ(end, "of the clean-up");
    weir::ending told = weir::ending::value;
    auto cleanup = [&](weir::ending how) -> task<> {
        told = how;
        co_return;
    };
    auto finalised = [&]() -> task<> {
        co_await weir::finally(stopped_with_failing_defer(), cleanup);
    };
    end = co_await run(finalised());
    EXPECT_EQ(end, "of the clean-up");
    EXPECT_EQ(told, weir::ending::error);
    auto grouped = []() -> task<> {
        auto body = [](weir::task_group&) -> task<> { co_await stopped_with_failing_defer(); };
        try {
            co_await weir::with_group(body);
        } catch (const weir::error_group& errors) {
            EXPECT_EQ(errors.size(), 1u);
            throw std::runtime_error("group: " + weir::describe(errors.errors()[0]));
        }
    };
    end = co_await run(grouped());
    EXPECT_EQ(end, "group: of the clean-up");
}

WEIR_TEST(ErrorBeatsStop, DeferFailsAndItsFrameIsTheFibersOutermost) {
    const std::string end = co_await ending_after_cancel(1s, stopped_with_failing_defer());
    EXPECT_EQ(end, "of the clean-up");
}

WEIR_TEST(ErrorBeatsStop, DeferFailsInATimeoutsOwnStop) {
    WEIR_EXPECT_THROW(weir::timeout(1s, stopped_with_failing_defer()), std::runtime_error);
    auto nested = []() -> task<> { co_await stopped_with_failing_defer(); };
    std::string what;
    try {
        co_await weir::timeout(1s, nested());
    } catch (const std::exception& error) {
        what = error.what();
    }
    EXPECT_EQ(what, "of the clean-up");
    co_await weir::sleep(1s);
}

WEIR_TEST(ErrorBeatsStop, ARequestMadeDuringTheFailingCleanupIsStillThere) {
    lines log;
    auto caller = [&]() -> task<> {
        try {
            co_await weir::timeout(1s, stopped_with_failing_defer());
        } catch (const std::runtime_error& error) {
            log.push_back(error.what());
        }
        co_await weir::sleep(1s);
        log.push_back("never");
    };
    const std::string end = co_await ending_after_cancel(1500ms, caller());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"of the clean-up"}));
}

WEIR_TEST(ErrorBeatsStop, AtTheEndOfAFiberToo) {
    auto value = []() -> task<int> {
        weir::current_task().cancel();
        co_return 12;
    };
    auto error = []() -> task<int> {
        weir::current_task().cancel();
        throw std::runtime_error("x");
        co_return 1;
    };
    auto first = weir::spawn(value);
    auto second = weir::spawn(error);
    co_await first.wait();
    co_await second.wait();
    EXPECT_TRUE(first.cancelled()) << "stop beats value";
    EXPECT_TRUE(second.failed()) << "error beats stop";
    EXPECT_NE(second.error(), nullptr);
}

// The failure came first, so it cannot be the result of the stop.
WEIR_TEST(ErrorBeatsStop, AStopThatFindsAGroupFailedGoesOnBehindTheError) {
    for (const bool body_waits : {false, true}) {
        lines log;
        auto slow_end = []() -> task<> { co_await weir::sleep(5s); };
        auto stubborn = [&]() -> task<> { co_await weir::finally(weir::sleep(1h), slow_end); };
        auto body = [&](weir::task_group& group) -> task<> {
            group.spawn(fails_later("of a child"));
            group.spawn(stubborn);
            if (body_waits) {
                co_await weir::sleep(1h);
            }
        };
        auto caller = [&]() -> task<> {
            try {
                co_await weir::with_group(body);
            } catch (const weir::error_group&) {
                log.push_back("failed");
            }
            co_await weir::sleep(1s);
            log.push_back("never");
        };
        const std::string end = co_await ending_after_cancel(3s, caller());
        EXPECT_EQ(end, "cancelled");
        EXPECT_EQ(log, (lines{"failed"}));
        log.clear();
        WEIR_EXPECT_THROW(weir::timeout(3s, caller()), weir::timed_out);
        EXPECT_EQ(log, (lines{"failed"}));
    }
}

WEIR_TEST(ErrorBeatsStop, ACancellationSeenByCleanupDoesNotReplaceTheStop) {
    auto victim = weir::spawn(weir::sleep(1h, 0));
    victim.cancel();
    co_await victim.wait();
    auto sees = [&]() -> task<> { (void)co_await victim; };
    for (const bool deferred : {false, true}) {
        bool caught = false;
        auto defers = [&]() -> task<> {
            co_await weir::defer(sees);
            co_await weir::sleep(1h);
        };
        auto work = [&]() -> task<> {
            try {
                if (deferred) {
                    co_await defers();
                } else {
                    co_await weir::finally(weir::sleep(1h), sees);
                }
            } catch (const weir::cancelled&) {
                caught = true;
            }
            co_await weir::sleep(1h);
        };
        const std::string end = co_await ending_after_cancel(1s, work());
        EXPECT_EQ(end, "cancelled");
        EXPECT_FALSE(caught);
    }
}

// A stop that catchable has thrown is on its way out when the timeout around it expires.
WEIR_TEST(Catchable, AThrownStopIsNotLostToATimeoutThatExpiresMeanwhile) {
    auto slow_end = []() -> task<> { co_await weir::sleep(5s); };
    auto in_finally = [&]() -> task<> {
        co_await weir::finally(weir::catchable(weir::sleep(1h)), slow_end);
    };
    auto in_defer = [&]() -> task<> {
        co_await weir::defer(slow_end);
        co_await weir::catchable(weir::sleep(1h));
    };
    auto in_group = [&]() -> task<> {
        auto child = [&]() -> task<> { co_await weir::finally(weir::sleep(1h), slow_end); };
        auto body = [&](weir::task_group& group) -> task<> {
            group.spawn(child);
            co_await weir::catchable(weir::sleep(1h));
        };
        co_await weir::with_group(body);
    };
    for (const int kind : {0, 1, 2}) {
        bool timed_out = false;
        auto work = [&]() -> task<> {
            task<> chosen = kind == 0 ? in_finally() : kind == 1 ? in_defer() : in_group();
            try {
                co_await weir::timeout(3s, std::move(chosen));
            } catch (const weir::timed_out&) {
                timed_out = true;
            }
            co_await weir::sleep(1h);
        };
        auto started = weir::spawn(work);
        co_await weir::sleep(2s);
        started.cancel("because");
        co_await started.wait();
        EXPECT_TRUE(started.cancelled());
        EXPECT_FALSE(timed_out);
        std::string reason;
        try {
            co_await started;
        } catch (const weir::cancelled& stop) {
            reason = stop.reason();
        }
        EXPECT_EQ(reason, "because");
    }
}

}  // namespace
