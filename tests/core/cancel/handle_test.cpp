// SPDX-License-Identifier: MIT
// Awaiting handles: cancellation passes on to the awaited task.

#include "support.hpp"
#include "support/fifo_test.hpp"

#include <deque>

namespace {

using namespace cancel_tests;
using weir::task;

task<> forever() {
    co_await weir::sleep_forever();
}

WEIR_TEST(Handle, CancellingTheWaiterCancelsTheTaskAndWaitsForItsEnd) {
    lines log;
    auto cleanup = [&]() -> task<> { (void)co_await nap(log, 1s, "inner cleaned"); };
    auto inner = [&]() -> task<> { (void)co_await weir::finally(nap(log, 1h), cleanup); };
    auto awaited = weir::spawn(inner);
    auto work = [&]() -> task<> {
        noted gone(log, "waiter gone");
        co_await awaited;
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel("why");
    co_await started.wait();
    EXPECT_TRUE(started.cancelled() && awaited.cancelled());
    EXPECT_EQ(log, (lines{"inner cleaned", "waiter gone"}));
    std::string reason;
    try {
        awaited.result();
    } catch (const weir::cancelled& stop) {
        reason = stop.reason();
    }
    EXPECT_EQ(reason, "why");
}

WEIR_TEST(Handle, ATaskThatSwallowsTheCancelSpendsTheRequest) {
    lines log;
    auto inner = [&]() -> task<int> {
        (void)co_await weir::intercept(forever());
        co_await weir::sleep(1s);
        co_return 3;
    };
    auto work = [&]() -> task<> {
        auto awaited = weir::spawn(inner);
        const int got = co_await awaited;
        log.push_back("got " + std::to_string(got));
        co_await weir::sleep(1s);
        log.push_back("undisturbed");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "value");
    EXPECT_EQ(log, (lines{"got 3", "undisturbed"}));

    // The same for a timeout: the value is used, and the scope leaves no request behind.
    auto awaited = weir::spawn(inner);
    const int got = co_await weir::timeout(1s, awaited);
    EXPECT_EQ(got, 3);
    co_await weir::sleep(1h);
}

WEIR_TEST(Handle, ATaskThatAnswersWithAnErrorSpendsTheRequestToo) {
    lines log;
    auto inner = [&]() -> task<> {
        (void)co_await weir::intercept(forever());
        throw std::runtime_error("instead");
    };
    auto work = [&]() -> task<> {
        auto awaited = weir::spawn(inner);
        try {
            co_await awaited;
        } catch (const std::runtime_error& error) {
            log.push_back(error.what());
        }
        co_await weir::sleep(1s);
        log.push_back("undisturbed");
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "value");
    EXPECT_EQ(log, (lines{"instead", "undisturbed"}));
}

WEIR_TEST(Handle, ARequestHeldByAShieldIsNotForwarded) {
    lines log;
    auto awaited = weir::spawn(nap(log, 2s, "awaited done"));
    auto shielded = [&]() -> task<> { (void)co_await awaited; };
    auto work = [&]() -> task<> { co_await weir::shield(shielded()); };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_FALSE(awaited.cancelled());
    EXPECT_EQ(awaited.cancelling(), 0u);
}

// The request of the inner timeout was passed on before: once, whatever comes meanwhile.
WEIR_TEST(Handle, ARequestHeldByAShieldPassesNoOlderOneOnAgain) {
    auto stubborn = []() -> task<> { co_await weir::shield(weir::sleep(10s)); };
    auto awaited = weir::spawn(stubborn);
    auto work = [&]() -> task<> {
        auto inner = [&]() -> task<> { co_await awaited; };
        try {
            co_await weir::shield(weir::timeout(1s, inner()));
        } catch (const weir::timed_out&) {
        }
    };
    auto waiter = weir::spawn(work);
    co_await weir::sleep(2s);
    EXPECT_EQ(awaited.cancelling(), 1u);
    waiter.cancel();
    EXPECT_EQ(awaited.cancelling(), 1u);
    co_await waiter.wait();
    EXPECT_TRUE(waiter.cancelled() && awaited.cancelled());
}

WEIR_TEST(Handle, OnlyWaitersThatWereCancelledStop) {
    // Another waiter of the same task sees weir::cancelled, and may continue.
    lines log;
    auto awaited = weir::spawn(forever);
    auto other = [&]() -> task<> {
        try {
            co_await awaited;
        } catch (const weir::cancelled&) {
            log.push_back("seen");
        }
        co_await weir::sleep(1s);
        log.push_back("went on");
    };
    auto work = [&]() -> task<> { co_await awaited; };
    auto watching = weir::spawn(other);
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    co_await watching;
    EXPECT_EQ(watching.cancelling(), 0u);
    EXPECT_EQ(log, (lines{"seen", "went on"}));
}

task<> await_it(weir::handle<> next) {
    co_await next;
}

WEIR_TEST(Handle, LongChainsOfHandles) {
    constexpr int length = 100'000;
    std::vector<weir::handle<>> chain;
    chain.reserve(length);
    chain.push_back(weir::spawn(forever));
    for (int each = 1; each < length; ++each) {
        chain.push_back(weir::spawn(await_it, chain.back()));
    }
    co_await weir::sleep(1s);
    chain.back().cancel();
    co_await chain.back().wait();
    int cancelled = 0;
    for (const auto& each : chain) {
        cancelled += each.cancelled() ? 1 : 0;
    }
    EXPECT_EQ(cancelled, length);
}

WEIR_TEST(Handle, CyclesOfHandlesUnwind) {
    for (const int length : {2, 3, 10}) {
        std::vector<weir::handle<>> ring(static_cast<std::size_t>(length));
        auto work = [&](int self) -> task<> {
            co_await weir::sleep(1s);
            co_await ring[static_cast<std::size_t>((self + 1) % length)];
        };
        for (int each = 0; each < length; ++each) {
            ring[static_cast<std::size_t>(each)] = weir::spawn(work, each);
        }
        co_await weir::sleep(2s);
        ring[0].cancel();
        for (auto& each : ring) {
            co_await each.wait();
            EXPECT_TRUE(each.cancelled());
        }
    }
}

WEIR_TEST(Handle, CancelOfOthersIsSeenAsCancelledButNeverTheFibersOwnStop) {
    bool thrown_for_other = false;
    bool thrown_for_own = false;
    auto victim = weir::spawn(forever);
    auto work = [&]() -> task<> {
        try {
            co_await victim;
        } catch (const weir::cancelled&) {
            thrown_for_other = true;
        }
        auto second = weir::spawn(forever);
        try {
            co_await second;
        } catch (const weir::cancelled&) {
            thrown_for_own = true;
        }
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    victim.cancel();
    co_await weir::sleep(1s);
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(thrown_for_other);
    EXPECT_FALSE(thrown_for_own);
    EXPECT_TRUE(started.cancelled());
}

// Fails after one second, then cleans up for two.
task<> fails_early() {
    auto work = []() -> task<> {
        co_await weir::sleep(1s);
        throw std::runtime_error("early");
    };
    auto cleanup = []() -> task<> { co_await weir::sleep(2s); };
    co_await weir::finally(work(), cleanup);
}

WEIR_TEST(Handle, ATaskThatHadFailedBeforeTheStopDoesNotAnswerIt) {
    for (const bool limited : {false, true}) {
        lines log;
        auto work = [&]() -> task<> {
            auto inner = weir::spawn(fails_early);
            try {
                co_await inner;
            } catch (const std::runtime_error& error) {
                log.push_back(error.what());
            }
            co_await weir::sleep(1h);
            log.push_back("ran on");
        };
        if (limited) {
            WEIR_EXPECT_THROW(weir::timeout(2s, work()), weir::timed_out);
        } else {
            const std::string end = co_await ending_after_cancel(2s, work());
            EXPECT_EQ(end, "cancelled");
        }
        EXPECT_EQ(log, (lines{"early"}));
    }
}

WEIR_TEST(Handle, AnUnansweredRequestPassesThroughAChainOfHandles) {
    lines log;
    auto middle = []() -> task<> {
        auto inner = weir::spawn(fails_early);
        co_await inner;
    };
    auto outer = [&]() -> task<> {
        auto inner = weir::spawn(middle);
        try {
            co_await inner;
        } catch (const std::runtime_error& error) {
            log.push_back(error.what());
        }
        co_await weir::sleep(1h);
        log.push_back("ran on");
    };
    const std::string end = co_await ending_after_cancel(2s, outer());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"early"}));
}

WEIR_TEST(Handle, APendingRequestGoesToTheTaskThatIsAwaitedNext) {
    for (const int kind : {0, 1, 2}) {
        weir::handle<> nested;
        auto outer = [&]() -> task<> {
            nested = weir::spawn(forever);
            co_await weir::sleep(1s);
            weir::current_task().cancel("first");
            if (kind == 0) {
                co_await nested;
            } else if (kind == 1) {
                co_await weir::timeout(1h, nested);
            } else {
                co_await weir::gather(nested, nested);
            }
        };
        auto started = weir::spawn(outer);
        co_await started.wait();
        EXPECT_TRUE(started.cancelled());
        EXPECT_TRUE(nested.done());
        EXPECT_TRUE(nested.cancelled());
        std::string reason;
        try {
            co_await nested;
        } catch (const weir::cancelled& stop) {
            reason = stop.reason();
        }
        EXPECT_EQ(reason, "first");
    }
}

WEIR_TEST(Handle, ATaskThatIsAwaitedNextMayAnswerAPendingRequest) {
    lines log;
    auto swallows = []() -> task<int> {
        (void)co_await weir::intercept(forever());
        co_return 9;
    };
    auto outer = [&]() -> task<int> {
        auto nested = weir::spawn(swallows);
        co_await weir::sleep(1s);
        weir::current_task().cancel();
        const int value = co_await nested;
        co_await weir::sleep(1s);
        co_return value;
    };
    const int value = co_await weir::spawn(outer);
    EXPECT_EQ(value, 9);
}

WEIR_TEST(Handle, APendingRequestLeavesTasksThatAreOnlyWaitedForAlone) {
    auto nested = weir::spawn(forever);
    auto waits = [&]() -> task<> {
        weir::current_task().cancel();
        co_await nested.wait();
    };
    auto shields = [&]() -> task<> {
        weir::current_task().cancel();
        co_await weir::shield(nested);
    };
    auto first = weir::spawn(waits);
    auto second = weir::spawn(shields);
    co_await first.wait();
    co_await second.wait();
    EXPECT_TRUE(first.cancelled() && second.cancelled());
    EXPECT_FALSE(nested.done());
    EXPECT_EQ(nested.cancelling(), 0u);
    nested.cancel();
    co_await nested.wait();
}

// A fiber that has used up its share waits for its turn before it begins to wait for the task.
FIFO_TEST(Handle, ARequestDuringAForcedYieldGoesToTheAwaitedTask) {
    auto nested = weir::spawn(forever);
    auto outer = [&]() -> task<> {
        weir::event set;
        set.set();
        for (int each = 0; each < 256; ++each) {
            co_await set.wait();
        }
        co_await nested;
    };
    auto started = weir::spawn(outer);
    co_await weir::yield();
    started.cancel();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_TRUE(nested.cancelled());
}

std::string reason_of(const weir::any_handle& ended) {
    try {
        (void)ended.error();
    } catch (const weir::cancelled& stop) {
        return stop.reason();
    }
    return "none";
}

WEIR_TEST(Handle, TheReasonIsThatOfTheRequestThatStoppedTheTask) {
    auto cleanup = []() -> task<> { (void)co_await weir::timeout_or(1s, weir::sleep(1h, 1), 0); };
    auto work = [&]() -> task<> { co_await weir::finally(weir::sleep_forever(), cleanup); };
    auto timed = weir::spawn(work);
    co_await weir::sleep(1s);
    timed.cancel("because");
    co_await timed.wait();
    EXPECT_EQ(reason_of(timed), "because") << "an expired timeout in the clean-up";

    weir::cancel_scope scope;
    auto scoped = [&]() -> task<> { co_await scope.run(weir::sleep_forever()); };
    auto started = weir::spawn(scoped);
    co_await weir::sleep(1s);
    started.cancel("outer");
    scope.cancel("inner");
    co_await started.wait();
    EXPECT_EQ(reason_of(started), "outer");

    auto second = weir::spawn(work);
    co_await weir::sleep(1s);
    second.cancel("first");
    co_await weir::sleep(500ms);
    second.cancel();
    co_await second.wait();
    EXPECT_EQ(reason_of(second), "first") << "a request without a reason takes none away";
}

WEIR_TEST(Handle, TheReasonOfAnAnsweredRequestIsNotThatOfTheNext) {
    auto intercepts = []() -> task<> {
        (void)co_await weir::intercept(forever());
        co_await forever();
    };
    auto caught = []() -> task<> {
        try {
            co_await weir::catchable(forever());
        } catch (const weir::cancelled&) {
        }
        co_await forever();
    };
    auto replaced = []() -> task<> {
        auto throws = []() -> task<> {
            throw std::runtime_error("instead");
            co_return;
        };
        (void)co_await weir::settle(weir::finally(forever(), throws));
        co_await forever();
    };
    auto forwarded = [&]() -> task<> {
        auto swallows = []() -> task<> { (void)co_await weir::intercept(forever()); };
        auto inner = weir::spawn(swallows);
        co_await inner;
        co_await forever();
    };
    auto undone = []() -> task<> {
        weir::current_task().cancel("taken back");
        weir::current_task().uncancel();
        co_await forever();
    };
    const std::vector<weir::handle<>> all{weir::spawn(intercepts), weir::spawn(caught),
                                          weir::spawn(replaced), weir::spawn(forwarded),
                                          weir::spawn(undone)};
    co_await weir::sleep(1s);
    for (const auto& each : all) {
        if (&each != &all.back()) {
            each.cancel("first");
        }
    }
    co_await weir::sleep(1s);
    for (const auto& each : all) {
        EXPECT_FALSE(each.done());
        each.cancel();
        co_await each.wait();
        EXPECT_TRUE(each.cancelled());
        EXPECT_EQ(reason_of(each), "");
    }
}

WEIR_TEST(Handle, AnInterceptedStopThatIsResumedKeepsItsReason) {
    auto work = []() -> task<> {
        weir::outcome<> ended = co_await weir::intercept(forever());
        co_await weir::sleep(1s);
        co_await std::move(ended);
    };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel("because");
    co_await started.wait();
    EXPECT_EQ(reason_of(started), "because");
}

// The clean-up answers the first request with an error; the second one is pending meanwhile.
WEIR_TEST(Handle, ARequestThatIsHeldOffHasAReasonOfItsOwn) {
    for (const bool first_has_reason : {false, true}) {
        auto throws = []() -> task<> {
            co_await weir::sleep(2s);
            throw std::runtime_error("instead");
        };
        auto work = [&]() -> task<> {
            (void)co_await weir::settle(weir::finally(forever(), throws));
            co_await forever();
        };
        auto started = weir::spawn(work);
        co_await weir::sleep(1s);
        started.cancel(first_has_reason ? "first" : "");
        co_await weir::sleep(1s);
        started.cancel(first_has_reason ? "" : "second");
        co_await started.wait();
        EXPECT_TRUE(started.cancelled());
        EXPECT_EQ(reason_of(started), first_has_reason ? "" : "second");
    }
}

WEIR_TEST(Handle, ASecondRequestWhileOneIsHeldLeavesItsReason) {
    auto shielded = []() -> task<> { co_await weir::shield(weir::sleep(2s)); };
    auto work = [&]() -> task<> { co_await weir::gather(shielded()); };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel("first");
    co_await weir::sleep(500ms);
    started.cancel();
    co_await started.wait();
    EXPECT_EQ(reason_of(started), "first");
}

// ---- done-callbacks

WEIR_TEST(Handle, ADoneCallbackThatThrowsIsReportedAndTheOthersRun) {
    weir::testing::expect_report(weir::report_kind::callback_error, "a callback threw", 2);
    std::string called;
    auto ended = weir::spawn([]() -> task<int> { co_return 7; });
    ended.add_done_callback([&](const weir::handle<int>&) {
        called += '1';
        throw std::runtime_error("first");
    });
    ended.add_done_callback([&](const weir::handle<int>& task) {
        called += '2';
        EXPECT_EQ(task.result(), 7);
    });
    ended.add_done_callback([&](const weir::handle<int>&) {
        called += '3';
        throw 3;  // not a std::exception
    });
    ended.add_done_callback([&](const weir::handle<int>&) { called += '4'; });
    const int value = co_await ended;  // the task itself is not concerned
    EXPECT_EQ(value, 7);
    co_await weir::testing::settle_all();
    EXPECT_EQ(called, "1234");
}

WEIR_TEST(Handle, ErrorOfACancelledTaskThrowsInsideTheCallback) {
    std::string seen;
    auto look = [&](const weir::handle<>& task) {
        EXPECT_TRUE(task.done());
        EXPECT_TRUE(task.cancelled());
        EXPECT_FALSE(task.failed());
        try {
            (void)task.error();
            ADD_FAILURE() << "error() of a cancelled task returned";
        } catch (const weir::cancelled& stop) {
            seen += stop.reason();
        }
        try {
            task.result();
            ADD_FAILURE() << "result() of a cancelled task returned";
        } catch (const weir::cancelled&) {
            seen += '!';
        }
    };
    auto stopped = weir::spawn(forever());
    stopped.add_done_callback(look);
    co_await weir::testing::settle_all();
    stopped.cancel("why");
    co_await stopped.wait();
    co_await weir::testing::settle_all();
    EXPECT_EQ(seen, "why!");
}

// One that does not catch it: reported as any callback that throws, and the loop goes on.
WEIR_TEST(Handle, ACallbackThatLetsTheCancellationPassIsReported) {
    weir::testing::expect_report(weir::report_kind::callback_error);
    bool later = false;
    auto stopped = weir::spawn(forever());
    stopped.add_done_callback([](const weir::handle<>& task) { (void)task.error(); });
    stopped.add_done_callback([&](const weir::handle<>&) { later = true; });
    co_await weir::testing::settle_all();
    stopped.cancel();
    co_await stopped.wait();
    co_await weir::testing::settle_all();
    EXPECT_TRUE(later);
    EXPECT_FALSE(weir::current_task().cancelled());
}

WEIR_TEST(Handle, TellsTheReasonOfTheCancelThatEndsIt) {
    auto plain = weir::spawn(forever());
    auto cleanup = []() -> task<> { co_await weir::sleep(1s); };
    auto cleans = [&]() -> task<> { co_await weir::finally(forever(), cleanup); };
    auto cleaning = weir::spawn(cleans);
    auto answers = []() -> task<int> {
        (void)co_await weir::intercept(forever());
        co_return 3;
    };
    auto answering = weir::spawn(answers);
    co_await weir::testing::settle_all();
    EXPECT_EQ(plain.reason(), "");
    plain.cancel();
    cleaning.cancel("first");
    answering.cancel("ignored");
    EXPECT_EQ(cleaning.reason(), "first") << "before it is delivered";
    EXPECT_EQ(answering.reason(), "ignored");
    co_await weir::testing::settle_all();
    EXPECT_EQ(plain.reason(), "") << "none was given";
    EXPECT_EQ(cleaning.reason(), "first") << "while it cleans up";
    co_await answering.wait();
    EXPECT_EQ(answering.reason(), "") << "it has answered the request";
    cleaning.cancel("second");
    EXPECT_EQ(cleaning.reason(), "second") << "merged with the first, later ones win";
    co_await cleaning.wait();
    EXPECT_TRUE(cleaning.cancelled());
    auto gave_up = []() -> task<> {
        throw weir::cancelled("gave up");
        co_return;
    };
    auto thrown = weir::spawn(gave_up);
    co_await thrown.wait();
    EXPECT_EQ(thrown.reason(), "gave up");
}

}  // namespace
