// SPDX-License-Identifier: MIT
// A request is aimed at one boundary: the outermost wins, none is lost, none leaks into code after
// it.

#include "support.hpp"

#include <weir/testing/testing.hpp>

#include <algorithm>
#include <array>

namespace {

using namespace cancel_tests;
using weir::task;
using namespace std::chrono_literals;

task<> forever() {
    co_await weir::sleep_forever();
}

WEIR_TEST(Timeout, TimeoutTurnsItsOwnExpiryIntoTimedOut) {
    lines log;
    auto work = [&]() -> task<> {
        noted gone(log, "stopped");
        co_await weir::sleep_forever();
    };
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(weir::timeout(1s, work()), weir::timed_out);
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_EQ(log, (lines{"stopped"}));
    EXPECT_EQ(weir::current_task().cancelling(), 0u);
    co_await weir::sleep(1h);  // undisturbed
}

WEIR_TEST(Timeout, ATimedOutThrownByTheWorkIsPassedOn) {
    auto work = []() -> task<> {
        co_await weir::sleep(1s);
        throw weir::timed_out("of the work");
    };
    std::string what;
    try {
        co_await weir::timeout(1h, work());
    } catch (const weir::timed_out& error) {
        what = error.what();
    }
    EXPECT_EQ(what, "of the work");
}

WEIR_TEST(Timeout, InnerExpiryDoesNotTouchTheOuterScope) {
    int rounds = 0;
    auto work = [&]() -> task<> {
        for (;;) {
            WEIR_EXPECT_THROW(weir::timeout(1s, forever()), weir::timed_out);
            ++rounds;
        }
    };
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(weir::timeout(3500ms, work()), weir::timed_out);
    EXPECT_EQ(rounds, 3);
    EXPECT_EQ(weir::now() - begin, 3500ms);
}

// Stops of three nested scopes and the fiber are requested in one tick, in every order and every
// subset.
task<> nested_requests(std::array<int, 4> order, int count) {
    std::array<weir::cancel_scope, 3> scopes;  // 0 is the outermost; 3 is the fiber
    lines log;
    auto innermost = [&]() -> task<> {
        noted gone(log, "innermost gone");
        co_await weir::sleep_forever();
    };
    auto second = [&]() -> task<> {
        co_await scopes[2].run(innermost());
        log.push_back("after 2");
        co_await weir::sleep(1s);
        log.push_back("slept 2");
    };
    auto first = [&]() -> task<> {
        co_await scopes[1].run(second());
        log.push_back("after 1");
        co_await weir::sleep(1s);
        log.push_back("slept 1");
    };
    auto whole = [&]() -> task<> {
        co_await scopes[0].run(first());
        log.push_back("after 0");
        co_await weir::sleep(1s);
        log.push_back("slept 0");
    };
    auto started = weir::spawn(whole);
    co_await weir::sleep(1s);
    int outermost = 2;
    for (int each = 0; each < count; ++each) {
        const int asked = order[static_cast<std::size_t>(each)];
        if (asked == 3) {
            started.cancel();
            outermost = -1;
        } else {
            scopes[static_cast<std::size_t>(asked)].cancel();
            outermost = std::min(outermost, asked);
        }
    }
    co_await started.wait();
    lines expected{"innermost gone"};
    for (int each = outermost; each >= 0; --each) {
        expected.push_back("after " + std::to_string(each));
        expected.push_back("slept " + std::to_string(each));
    }
    EXPECT_EQ(log, expected);
    EXPECT_EQ(started.cancelled(), outermost == -1);
    for (int each = 0; each < 3; ++each) {
        EXPECT_EQ(scopes[static_cast<std::size_t>(each)].caught(), each == outermost);
    }
}

WEIR_TEST(Timeout, OutermostOfSeveralRequestsInOneTickWinsInAnyOrder) {
    std::array<int, 4> order{0, 1, 2, 3};
    do {
        for (int count = 1; count <= 4; ++count) {
            co_await nested_requests(order, count);
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

// The same with deadlines: both expire in the same tick, whichever timer was armed first.
WEIR_TEST(Timeout, OutermostOfTwoTimeoutsInOneTickWins) {
    for (const bool outer_moved : {false, true}) {
        bool after_inner = false;
        weir::cancel_scope outer(1s);
        weir::cancel_scope inner(1s);
        auto middle = [&]() -> task<> {
            if (outer_moved) {
                outer.reschedule_after(1s);  // now armed after the inner one
            }
            co_await inner.run(forever());
            after_inner = true;
        };
        const bool ended = co_await outer.run(middle());
        EXPECT_FALSE(ended);
        EXPECT_TRUE(outer.caught());
        EXPECT_FALSE(inner.caught());
        EXPECT_FALSE(after_inner);
        co_await weir::sleep(1s);
    }
}

WEIR_TEST(Timeout, ARequestThatComesWithTheResultDoesNotLeakIntoLaterCode) {
    // The scope expires in the tick in which its work completes: exactly one of the two is seen.
    for (int repeat = 0; repeat < 2; ++repeat) {
        int values = 0;
        int expiries = 0;
        auto work = []() -> task<int> {
            co_await weir::sleep(1s);
            co_return 1;
        };
        try {
            values += co_await weir::timeout(1s, work());
        } catch (const weir::timed_out&) {
            ++expiries;
        }
        EXPECT_EQ(values + expiries, 1);
        co_await weir::sleep(2s);
        EXPECT_EQ(weir::current_task().cancelling(), 0u);
    }
}

WEIR_TEST(Timeout, AScopeThatIsLeftTakesItsUndeliveredRequestWithIt) {
    weir::cancel_scope scope;
    auto work = [&]() -> task<int> {
        scope.cancel();
        co_return 5;  // without a suspension: no effect
    };
    const std::optional<int> got = co_await scope.run(work());
    EXPECT_EQ(got, 5);
    EXPECT_FALSE(scope.caught());
    EXPECT_TRUE(scope.cancel_called());
    co_await weir::sleep(1s);
    scope.cancel();  // after the end: no effect
    co_await weir::sleep(1s);
}

WEIR_TEST(Timeout, AnOuterRequestSurvivesTheInnerScopesErrorAndValue) {
    // The fiber is cancelled while it runs inside a scope that then ends normally.
    for (const bool fails : {false, true}) {
        lines log;
        auto work = [&]() -> task<> {
            weir::current_task().cancel();
            if (fails) {
                throw std::runtime_error("of the work");
            }
            co_return;
        };
        auto whole = [&]() -> task<> {
            try {
                co_await weir::timeout(1s, work());
            } catch (const std::runtime_error&) {
                log.push_back("caught");
            }
            log.push_back("ran on");
            co_await weir::sleep(1s);
            log.push_back("never");
        };
        auto started = weir::spawn(whole);
        co_await started.wait();
        EXPECT_TRUE(started.cancelled());
        EXPECT_EQ(log, fails ? (lines{"caught", "ran on"}) : (lines{"ran on"}));
    }
}

WEIR_TEST(Timeout, CancelAndExpiryInOneTickEndTheFiber) {
    for (const bool cancel_first : {false, true}) {
        bool after = false;
        weir::cancel_scope scope;
        auto whole = [&]() -> task<> {
            co_await scope.run(forever());
            after = true;
        };
        auto started = weir::spawn(whole);
        co_await weir::sleep(1s);
        if (cancel_first) {
            started.cancel();
            scope.cancel();
        } else {
            scope.cancel();
            started.cancel();
        }
        co_await started.wait();
        EXPECT_TRUE(started.cancelled());
        EXPECT_FALSE(after);
    }
}

WEIR_TEST(Timeout, AnInterceptedWalkAnswersAllRequestsInsideItsTarget) {
    weir::cancel_scope outer;
    weir::cancel_scope inner;
    bool undisturbed = false;
    auto work = [&]() -> task<> {
        (void)co_await weir::intercept(forever());
        co_await weir::sleep(1s);
        undisturbed = true;
    };
    auto middle = [&]() -> task<> { (void)co_await inner.run(work()); };
    auto whole = [&]() -> task<> { (void)co_await outer.run(middle()); };
    auto started = weir::spawn(whole);
    co_await weir::sleep(1s);
    inner.cancel();
    outer.cancel();
    co_await started;
    EXPECT_TRUE(undisturbed);
}

// ---- catchable: the exception knows its request -------------------------------------------------

WEIR_TEST(Timeout, AStopSeenAsExceptionIsTurnedIntoTimedOutByItsOwnScopeOnly) {
    bool inner_timed_out = false;
    weir::cancel_scope inner(1s);
    auto work = [&]() -> task<> {
        // The expiry of the inner scope is swallowed; then the outer one's passes through it.
        (void)co_await weir::intercept(forever());
        co_await weir::catchable(forever());
    };
    auto middle = [&]() -> task<> { inner_timed_out = !co_await inner.run(work()); };
    WEIR_EXPECT_THROW(weir::timeout(2s, middle()), weir::timed_out);
    EXPECT_FALSE(inner_timed_out);
    EXPECT_TRUE(inner.expired());

    auto own = []() -> task<> { co_await weir::catchable(forever()); };
    WEIR_EXPECT_THROW(weir::timeout(1s, own()), weir::timed_out);

    auto rethrown = []() -> task<> {
        try {
            co_await weir::catchable(forever());
        } catch (const weir::cancelled&) {
            throw weir::cancelled("again");
        }
    };
    WEIR_EXPECT_THROW(weir::timeout(1s, rethrown()), weir::timed_out);
}

// ---- a request can be taken back only while it has not taken effect -----------------------------

WEIR_TEST(Timeout, UncancelDoesNotReviveAnInterruptedOperation) {
    plan waits;
    int got = 0;
    auto work = [&]() -> task<> { got = co_await planned(waits); };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    EXPECT_EQ(started.uncancel(), 0u);
    co_await started.wait();
    EXPECT_EQ(got, 0);
    EXPECT_EQ(waits.resumed, 0) << "an operation that was called off has no result";
    EXPECT_TRUE(started.cancelled());
}

WEIR_TEST(Timeout, UncancelDoesNotReviveALateOperation) {
    plan waits{.lets_go = false};
    auto work = [&]() -> task<> { co_await planned(waits); };
    auto started = weir::spawn(work);
    co_await weir::sleep(1s);
    started.cancel();
    started.uncancel();
    waits.complete();
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(waits.given_back, 1);
}

WEIR_TEST(Timeout, UncancelTakesBackARequestThatHasNotTakenEffect) {
    bool done = false;
    auto work = [&]() -> task<> {
        weir::current_task().cancel();
        weir::current_task().uncancel();
        co_await weir::sleep(1s);
        done = true;
    };
    auto started = weir::spawn(work);
    co_await started;
    EXPECT_TRUE(done);
}

weir::task<int> answer() {
    co_await weir::sleep(1h);
    co_return 42;
}

WEIR_TEST(Timeout, ThrowsTimedOut) {
    WEIR_EXPECT_THROW(weir::timeout(1s, answer()), weir::timed_out);
}

// ---- a deadline that is foreseen

weir::task<int> needs(weir::clock::duration wait) {
    throw weir::refused({weir::refusal_reason::past_deadline, wait}, "line");
    co_return 0;
}

WEIR_TEST(Timeout, AForeseenEndOfTheTimeIsTheEndOfTheTime) {
    const auto begin = weir::now();
    WEIR_EXPECT_THROW_WITH(weir::timeout(1s, needs(2s)), weir::timed_out,
                           "timed out: line: the wait would last past the deadline");
    const int fallback = co_await weir::timeout_or(1s, needs(2s), 7);
    EXPECT_EQ(fallback, 7);
    const int unknown = co_await weir::timeout_or(1s, needs(0s), 8);
    EXPECT_EQ(unknown, 8);
    weir::cancel_scope scope(1s);
    const auto scoped = co_await scope.run(needs(2s));
    EXPECT_EQ(scoped, std::nullopt);
    EXPECT_TRUE(scope.caught());
    EXPECT_TRUE(scope.expired());
    EXPECT_EQ(weir::now(), begin);
}

WEIR_TEST(Timeout, AForeseenEndBelongsToTheEarliestDeadline) {
    const int by_inner = co_await weir::timeout_or(3s, weir::timeout_or(1s, needs(2s), 1), 2);
    EXPECT_EQ(by_inner, 1);
    const int by_outer = co_await weir::timeout_or(1s, weir::timeout_or(3s, needs(2s), 1), 2);
    EXPECT_EQ(by_outer, 2);
    const int both_late = co_await weir::timeout_or(1s, weir::timeout_or(2s, needs(5s), 1), 2);
    EXPECT_EQ(both_late, 2);
    const int unknown = co_await weir::timeout_or(1s, weir::timeout_or(2s, needs(0s), 1), 2);
    EXPECT_EQ(unknown, 2);
}

WEIR_TEST(Timeout, AForeseenEndPassesThroughGroupsAndGathers) {
    auto in_group = []() -> weir::task<int> {
        co_await weir::with_group([](weir::task_group& group) -> weir::task<> {
            group.spawn(needs(2s));
            group.spawn(needs(3s));
            co_await weir::sleep(1h);
        });
        co_return 0;
    };
    const int of_group = co_await weir::timeout_or(1s, in_group(), 1);
    EXPECT_EQ(of_group, 1);
    auto in_gather = []() -> weir::task<int> {
        co_await weir::gather(needs(2s), weir::sleep(1h));
        co_return 0;
    };
    const int of_gather = co_await weir::timeout_or(1s, in_gather(), 2);
    EXPECT_EQ(of_gather, 2);
    auto one_other = []() -> weir::task<int> {
        co_await weir::with_group([](weir::task_group& group) -> weir::task<> {
            group.spawn(needs(2s));
            group.spawn([]() -> weir::task<> {
                throw std::runtime_error("other");
                co_return;
            });
            co_return;
        });
        co_return 0;
    };
    WEIR_EXPECT_THROW(weir::timeout_or(1s, one_other(), 3), weir::error_group);
}

WEIR_TEST(Timeout, OtherRefusalsAreErrorsOfTheWork) {
    WEIR_EXPECT_THROW(weir::timeout(3s, needs(2s)), weir::refused);  // not because of this deadline
    auto too_long = []() -> weir::task<int> {
        throw weir::refused({weir::refusal_reason::wait_too_long, 2s});
        co_return 0;
    };
    WEIR_EXPECT_THROW(weir::timeout(1s, too_long()), weir::refused);
    weir::cancel_scope without_deadline;
    WEIR_EXPECT_THROW(without_deadline.run(needs(2s)), weir::refused);
    EXPECT_FALSE(without_deadline.caught());
    auto handled = []() -> weir::task<int> {
        const auto ended = co_await weir::settle(needs(2s));
        co_return ended.is_refused() ? 1 : 0;
    };
    const int inside = co_await weir::timeout(1s, handled());
    EXPECT_EQ(inside, 1);
}

// ---- a timed_out of the work itself

WEIR_TEST(Timeout, ATimedOutOfTheWorkIsNotTheFallback) {
    auto work = []() -> weir::task<int> {
        co_await weir::sleep(1ms);
        throw weir::timed_out("the work's own");
    };
    WEIR_EXPECT_THROW_WITH(weir::timeout_or(1s, work(), 7), weir::timed_out, "the work's own");
    WEIR_EXPECT_THROW_WITH(weir::timeout(1s, work()), weir::timed_out, "the work's own");
    auto at_once = []() -> weir::task<int> {
        throw weir::timed_out("the work's own");
        co_return 0;
    };
    WEIR_EXPECT_THROW_WITH(weir::timeout_or(1s, at_once(), 7), weir::timed_out, "the work's own");
    // As an answer to the stop of the timeout itself, too.
    auto on_stop = []() -> weir::task<int> {
        const auto ended = co_await weir::intercept(weir::sleep(1h));
        EXPECT_TRUE(ended.is_cancelled());
        throw weir::timed_out("the work's own");
        co_return 0;
    };
    WEIR_EXPECT_THROW_WITH(weir::timeout_or(1s, on_stop(), 7), weir::timed_out, "the work's own");
    // A timeout inside is work of the one outside.
    WEIR_EXPECT_TIMEOUT(weir::timeout_or(2s, weir::timeout(1s, weir::sleep(1h, 1)), 7));
}

WEIR_TEST(Timeout, ATimedOutInsideACriticalSectionIsNotAFailureToLock) {
    weir::mutex lock;
    int entered = 0;
    bool was_locked = true;
    auto section = [&]() -> weir::task<> {
        const auto guard = co_await weir::timeout(1s, lock.lock());
        ++entered;
        co_await weir::timeout(10ms, weir::sleep(1h));
    };
    const auto inner = co_await weir::settle(section());
    WEIR_ASSERT_TRUE(inner.has_error());
    EXPECT_EQ(entered, 1);  // the lock was taken: the error is that of the section
    EXPECT_FALSE(lock.locked());
    // The form that tells the two apart: the scope answers whether it got the lock.
    auto with_answer = [&](weir::clock::duration limit) -> weir::task<> {
        weir::cancel_scope waiting(limit);
        std::optional<weir::mutex::guard> guard = co_await waiting.run(lock.lock());
        was_locked = guard.has_value();
        if (was_locked) {
            ++entered;
            throw weir::timed_out("inside the section");
        }
    };
    WEIR_EXPECT_THROW_WITH(with_answer(1s), weir::timed_out, "inside the section");
    EXPECT_TRUE(was_locked);
    EXPECT_FALSE(lock.locked());
    auto holder = weir::spawn([&]() -> weir::task<> {
        const auto guard = co_await lock.lock();
        co_await weir::sleep(1h);
    });
    co_await weir::testing::settle_all();
    co_await with_answer(1s);
    EXPECT_FALSE(was_locked);
    EXPECT_EQ(entered, 2);
    holder.cancel();
    co_await holder.wait();
}

}  // namespace
