// SPDX-License-Identifier: MIT
// The walk: the frames that a stop destroys, their order and depth, and the start of the walk.

#include "support.hpp"

#include <exception>

namespace {

using namespace cancel_tests;
using weir::task;

task<> inner(lines& log, bool throws) {
    noted first(log, "inner 1");
    noted second(log, "inner 2");
    co_await weir::sleep(1s);
    if (throws) {
        throw std::runtime_error("thrown");
    }
    co_await weir::sleep_forever();
}
task<> middle(lines& log, bool throws) {
    noted first(log, "middle 1");
    {
        noted gone(log, "block");
    }
    noted second(log, "middle 2");
    co_await inner(log, throws);
    noted never(log, "never");
}
task<> outer(lines& log, bool throws) {
    noted first(log, "outer 1");
    auto again = std::make_unique<noted>(log, "outer 2");
    co_await middle(log, throws);
}

WEIR_TEST(Walk, DestroysInnermostOutwardsInTheOrderOfAnException) {
    lines thrown;
    lines stopped;
    WEIR_EXPECT_THROW(outer(thrown, true), std::runtime_error);
    auto work = weir::spawn(outer(stopped, false));
    co_await weir::sleep(2s);
    work.cancel();
    co_await work.wait();
    EXPECT_TRUE(work.cancelled());
    EXPECT_EQ(stopped, thrown);
    EXPECT_EQ(stopped,
              (lines{"block", "inner 2", "inner 1", "middle 2", "middle 1", "outer 2", "outer 1"}));
}

task<> with_parameter(noted, lines& log) {
    noted local(log, "local of callee");
    co_await weir::sleep_forever();
}

WEIR_TEST(Walk, ParametersDieWithTheirFrame) {
    lines log;
    auto caller = [&]() -> task<> {
        noted local(log, "local of caller");
        co_await with_parameter(noted(log, "parameter"), log);
    };
    const std::string end = co_await ending_after_cancel(1s, caller());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(log, (lines{"local of callee", "parameter", "local of caller"}));
}

WEIR_TEST(Walk, IsNotAnException) {
    int in_flight = -1;
    bool caught = false;
    auto work = [&]() -> task<> {
        at_exit note([&] { in_flight = std::uncaught_exceptions(); });
        try {
            co_await weir::sleep_forever();
        } catch (...) {
            caught = true;
        }
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    EXPECT_EQ(in_flight, 0);
    EXPECT_FALSE(caught);
}

// ---- depth --------------------------------------------------------------------------------------

constexpr int deep = 100'000;

// Where on the machine stack the frames are destroyed.
struct extent {
    const char* lowest = nullptr;
    const char* highest = nullptr;
    int count = 0;

    void note() {
        // Not the address of a local: the address sanitizer puts these elsewhere.
        const auto* const address = static_cast<const char*>(__builtin_frame_address(0));
        lowest = lowest == nullptr ? address : std::min(lowest, address);
        highest = highest == nullptr ? address : std::max(highest, address);
        ++count;
    }
    std::ptrdiff_t size() const { return highest - lowest; }
};

template <class Wrap>
task<> nest(int depth, extent& seen, const Wrap& wrap) {
    at_exit note([&seen] { seen.note(); });
    if (depth > 0) {
        co_await wrap(nest(depth - 1, seen, wrap));
    } else {
        co_await weir::sleep_forever();
    }
}

template <class Wrap>
task<> expect_flat(const Wrap& wrap) {
    extent seen;
    auto work = weir::spawn(nest(deep, seen, wrap));
    co_await weir::sleep(1s);
    work.cancel();
    co_await work.wait();
    EXPECT_TRUE(work.cancelled());
    EXPECT_EQ(seen.count, deep + 1);
    EXPECT_LT(seen.size(), 4096);
}

WEIR_TEST(Walk, AnyDepthInConstantStack) {
    weir::testing::once_is_enough();
    auto plain = [](task<> work) { return work; };
    co_await expect_flat(plain);
}
WEIR_TEST(Walk, AnyDepthThroughBoundaries) {
    weir::testing::once_is_enough();
    auto settled = [](task<> work) -> task<> { (void)co_await weir::settle(std::move(work)); };
    co_await expect_flat(settled);
    auto timed = [](task<> work) { return weir::timeout(1h, std::move(work)); };
    co_await expect_flat(timed);
}
WEIR_TEST(Walk, AnyDepthThroughFinally) {
    weir::testing::once_is_enough();
    int cleaned = 0;
    auto cleanup = [&cleaned]() -> task<> {
        co_await weir::yield();
        ++cleaned;
    };
    auto finalised = [&cleanup](task<> work) { return weir::finally(std::move(work), cleanup); };
    co_await expect_flat(finalised);
    EXPECT_EQ(cleaned, deep);
}
WEIR_TEST(Walk, AnyDepthThroughDefer) {
    weir::testing::once_is_enough();
    int cleaned = 0;
    auto cleanup = [&cleaned]() -> task<> {
        co_await weir::yield();
        ++cleaned;
    };
    auto deferring = [&cleanup](task<> work) -> task<> {
        co_await weir::defer(cleanup);
        co_await std::move(work);
    };
    co_await expect_flat(deferring);
    EXPECT_EQ(cleaned, deep);
}
WEIR_TEST(Walk, AnyDepthOfErrorsInCleanup) {
    weir::testing::once_is_enough();
    // Each clean-up throws anew: the error replaces the stop at the innermost, then the error
    // before.
    auto cleanup = []() -> task<> {
        co_await weir::yield();
        throw std::runtime_error("clean-up");
    };
    auto finalised = [&cleanup](task<> work) { return weir::finally(std::move(work), cleanup); };
    extent seen;
    constexpr int levels = 1000;  // exceptions are slow
    const std::string end = co_await ending_after_cancel(1s, nest(levels, seen, finalised));
    EXPECT_EQ(end, "clean-up");
    EXPECT_EQ(seen.count, levels + 1);
}

// ---- only the loop starts a walk ----------------------------------------------------------------

WEIR_TEST(Walk, IsNotStartedByCancel) {
    lines log;
    auto work = weir::spawn(nap(log, 1h));
    auto guarded = weir::spawn(outer(log, false));
    co_await weir::sleep(2s);
    log.clear();
    guarded.cancel();
    work.cancel();
    EXPECT_TRUE(log.empty());
    EXPECT_FALSE(guarded.done());
    co_await guarded.wait();
    co_await work.wait();
    EXPECT_EQ(log.size(), 6u);
}

WEIR_TEST(Walk, IsNotStartedByADestructorOrByAwaiting) {
    lines log;
    auto work = [&]() -> task<> {
        noted last(log, "gone");
        {
            at_exit cancel([] { weir::current_task().cancel(); });
        }
        log.push_back("still here");
        auto plain = []() -> task<int> { co_return 1; };
        const int got = co_await plain();  // a call does not suspend
        log.push_back("called " + std::to_string(got));
        co_await weir::sleep(1s);
        log.push_back("never");
    };
    auto started = weir::spawn(work);
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(log, (lines{"still here", "called 1", "gone"}));
}

// ---- a leaf does not start with a request pending -----------------------------------------------

WEIR_TEST(Walk, ALeafThatWouldSuspendWithARequestPendingDoesNotStart) {
    weir::testing::in_ordinary_order();  // a forced yield would be the place to stop
    plan free{.is_ready = true};
    plan busy;
    int got = 0;
    auto work = [&]() -> task<> {
        weir::current_task().cancel();
        got = co_await planned(free);
        co_await planned(busy);
    };
    auto started = weir::spawn(work);
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_EQ(got, 7) << "what is ready succeeds first";
    EXPECT_EQ(busy.asked, 1);
    EXPECT_EQ(busy.started, 0);
    EXPECT_EQ(busy.cancelled, 0);
    EXPECT_EQ(weir::now().time_since_epoch(), 0s) << "nothing was waited for";
}

WEIR_TEST(Walk, AYieldForFairnessIsACancellationPointBeforeTheOperation) {
    plan free{.is_ready = true};
    bool done = false;
    auto work = [&]() -> task<> {
        for (;;) {
            co_await planned(free);
        }
    };
    auto started = weir::spawn(work);
    co_await weir::yield();
    started.cancel();
    co_await started.wait();
    done = true;
    EXPECT_TRUE(done && started.cancelled());
    EXPECT_EQ(free.given_back, 0) << "the yield came before an operation took effect";
}

// ---- requests made during a walk ----------------------------------------------------------------

WEIR_TEST(Walk, ARequestForTheSameFiberDuringItsWalkIsAbsorbed) {
    lines log;
    auto work = [&]() -> task<> {
        at_exit again([] { weir::current_task().cancel(); });
        co_await weir::sleep_forever();
    };
    auto caller = [&]() -> task<> {
        (void)co_await weir::intercept(work());
        log.push_back("intercepted");
        co_await weir::sleep(1s);
        log.push_back("undisturbed");
    };
    const std::string end = co_await ending_after_cancel(1s, caller());
    EXPECT_EQ(end, "value");
    EXPECT_EQ(log, (lines{"intercepted", "undisturbed"}));
}

WEIR_TEST(Walk, ARequestForTheSameScopeDuringItsWalkIsAbsorbed) {
    weir::cancel_scope scope;
    auto work = [&]() -> task<> {
        at_exit again([&] { scope.cancel(); });
        scope.cancel();
        co_await weir::sleep_forever();
    };
    const bool ended = co_await scope.run(work());
    EXPECT_FALSE(ended);
    co_await weir::sleep(1s);
}

WEIR_TEST(Walk, ARequestForAnInnerScopeDuringAWiderWalkIsAbsorbed) {
    weir::cancel_scope wide;
    weir::cancel_scope narrow;
    auto work = [&]() -> task<> {
        at_exit again([&] { narrow.cancel(); });
        wide.cancel();
        co_await weir::sleep_forever();
    };
    bool after_narrow = false;
    auto middle = [&]() -> task<> {
        co_await narrow.run(work());
        after_narrow = true;
    };
    const bool ended = co_await wide.run(middle());
    EXPECT_FALSE(ended);
    EXPECT_FALSE(after_narrow);
    EXPECT_TRUE(wide.caught());
    EXPECT_FALSE(narrow.caught());
    co_await weir::sleep(1s);
}

WEIR_TEST(Walk, ARequestForAnOuterScopeDuringAWalkWidensIt) {
    weir::cancel_scope wide;
    weir::cancel_scope narrow;
    auto work = [&]() -> task<> {
        at_exit again([&] { wide.cancel(); });
        narrow.cancel();
        co_await weir::sleep_forever();
    };
    bool after_narrow = false;
    auto middle = [&]() -> task<> {
        co_await narrow.run(work());
        after_narrow = true;
    };
    const bool ended = co_await wide.run(middle());
    EXPECT_FALSE(ended);
    EXPECT_FALSE(after_narrow);
    EXPECT_TRUE(wide.caught());
    co_await weir::sleep(1s);
}

WEIR_TEST(Walk, ACancelDuringAScopesWalkWidensItToTheFiber) {
    bool went_on = false;
    auto work = [&]() -> task<> {
        at_exit again([] { weir::current_task().cancel(); });
        co_await weir::sleep_forever();
    };
    auto caller = [&]() -> task<> {
        WEIR_EXPECT_THROW(weir::timeout(1s, work()), weir::timed_out);
        went_on = true;
    };
    auto started = weir::spawn(caller);
    co_await started.wait();
    EXPECT_TRUE(started.cancelled());
    EXPECT_FALSE(went_on);
}

// ---- destructors --------------------------------------------------------------------------------

task<> throws_in_destructor() {
    struct bad {
        ~bad() noexcept(false) { throw 1; }  // NOLINT
    };
    bad local;
    co_await weir::sleep_forever();
}

TEST(WalkDeathTest, ADestructorThatThrowsInAWalkTerminates) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    auto stopped = [] {
        weir::loop_options options;
        options.driver = weir::driver_kind::simulated;
        weir::run(
            []() -> task<> {
                auto work = weir::spawn(throws_in_destructor());
                co_await weir::sleep(1s);
                work.cancel();
                co_await work.wait();
            }(),
            std::move(options));
    };
    EXPECT_DEATH(stopped(), "");
}

WEIR_TEST(Walk, DestructorsMaySpawnAndCancelOthers) {
    lines log;
    auto victim = weir::spawn(nap(log, 1h));
    weir::handle<int> late;
    auto work = [&]() -> task<> {
        at_exit act([&] {
            victim.cancel();
            late = weir::spawn(nap(log, 1s, "late"));
        });
        co_await weir::sleep_forever();
    };
    const std::string end = co_await ending_after_cancel(1s, work());
    EXPECT_EQ(end, "cancelled");
    co_await victim.wait();
    co_await late.wait();
    EXPECT_TRUE(victim.cancelled());
    EXPECT_EQ(log, (lines{"late"}));
}

}  // namespace
