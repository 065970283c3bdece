// SPDX-License-Identifier: MIT
// Shields: they postpone a stop, once per level, and lose to errors.

#include "support.hpp"

#include <memory>

namespace {

using namespace cancel_tests;
using weir::ending;
using weir::task;

WEIR_TEST(Shield, RunsTheTaskOnceAndThenLetsTheStopGoOn) {
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

WEIR_TEST(Shield, ARequestThatWasPendingBeforeItIsPostponedToo) {
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

WEIR_TEST(Shield, ErrorBeatsThePostponedStop) {
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

WEIR_TEST(Shield, EachLevelHoldsOneRequest) {
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

WEIR_TEST(Shield, InsideItsOwnScopesWork) {
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

WEIR_TEST(Shield, ATimeoutOutsideWaitsForIt) {
    lines log;
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::shield(nap(log, 2s, "shielded"))), weir::timed_out);
    EXPECT_EQ(weir::now() - begin, 2s);
    EXPECT_EQ(log, (lines{"shielded"}));
}

WEIR_TEST(Shield, OfAHandleLeavesAtOnceAndTheTaskRunsOn) {
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

WEIR_TEST(Shield, OfAHandleGivesMoveOnlyValuesAndErrors) {
    auto make = []() -> task<std::unique_ptr<int>> {
        co_await weir::sleep(1s);
        co_return std::make_unique<int>(3);
    };
    const std::unique_ptr<int> got = co_await weir::shield(weir::spawn(make));
    EXPECT_EQ(*got, 3);
    WEIR_EXPECT_THROW(weir::shield(weir::spawn(fail_after(1s, "x"))), std::runtime_error);
}

WEIR_TEST(Shield, AForeignCancellationInsideYieldsToThePostponedStop) {
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

WEIR_TEST(Shield, NoneOfManyNestedLevelsLeaks) {
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

WEIR_TEST(Catchable, GivesReferencesAsTheyAre) {
    int number = 4;
    auto refers = [&]() -> task<int&> { co_return number; };
    int& same = co_await weir::catchable(refers());
    EXPECT_EQ(&same, &number);
}

}  // namespace
