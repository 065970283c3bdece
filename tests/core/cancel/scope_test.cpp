// SPDX-License-Identifier: MIT
// current_deadline: the earliest of the deadlines around the running code.

#include <weir/testing/testing.hpp>
#include <weir/weir.hpp>

using namespace std::chrono_literals;

namespace {

weir::task<weir::clock::duration> time_left() {
    const auto deadline = weir::current_deadline();
    co_return deadline == weir::clock::time_point::max() ? weir::clock::duration::max()
                                                         : deadline - weir::now();
}

WEIR_TEST(Scope, IsTheEarliestOfThoseAround) {
    const auto none = co_await time_left();
    EXPECT_EQ(none, weir::clock::duration::max());
    const auto inner = co_await weir::timeout(5s, weir::timeout(3s, time_left()));
    EXPECT_EQ(inner, 3s);
    const auto outer = co_await weir::timeout(2s, weir::timeout(3s, time_left()));
    EXPECT_EQ(outer, 2s);
    const auto after = co_await time_left();
    EXPECT_EQ(after, weir::clock::duration::max());
}

WEIR_TEST(Scope, AScopeThatWasRescheduled) {
    weir::cancel_scope scope(10s);
    auto body = [&]() -> weir::task<> {
        scope.reschedule_after(4s);
        const auto left = co_await time_left();
        EXPECT_EQ(left, 4s);
        scope.reschedule(std::nullopt);
        const auto none = co_await time_left();
        EXPECT_EQ(none, weir::clock::duration::max());
    };
    co_await scope.run(body());
}

// An armed timer would be what the loop waits for.
TEST(Scope, WithoutADeadlineALoopThatWaitsForNothingIsADeadlock) {
    auto body = []() -> weir::task<> {
        weir::cancel_scope scope(10s);
        auto inside = [&]() -> weir::task<> {
            scope.reschedule(std::nullopt);
            weir::event never;
            co_await never.wait();
        };
        co_await scope.run(inside());
    };
    EXPECT_THROW(weir::run(body(), {.driver = weir::driver_kind::simulated}), weir::deadlock);
}

WEIR_TEST(Scope, EndsAtAShield) {
    const auto shielded = co_await weir::timeout(5s, weir::shield(time_left()));
    EXPECT_EQ(shielded, weir::clock::duration::max());
    const auto inside = co_await weir::shield(weir::timeout(5s, time_left()));
    EXPECT_EQ(inside, 5s);
}

WEIR_TEST(Scope, EndsAtAShieldInAChild) {
    auto shielded = []() -> weir::task<weir::clock::duration> {
        co_return co_await weir::shield(time_left());
    };
    auto limited_inside = []() -> weir::task<weir::clock::duration> {
        co_return co_await weir::shield(weir::timeout(3s, time_left()));
    };
    const auto [open, hidden, own] =
        co_await weir::timeout(2s, weir::gather(time_left(), shielded(), limited_inside()));
    EXPECT_EQ(open, 2s);
    EXPECT_EQ(hidden, weir::clock::duration::max());
    EXPECT_EQ(own, 3s);
}

WEIR_TEST(Scope, IsInheritedByChildrenOfGroupsAndGathers) {
    auto in_group = []() -> weir::task<> {
        auto body = [](weir::task_group& group) -> weir::task<> {
            auto child = group.spawn(time_left());
            const auto left = co_await child;
            EXPECT_EQ(left, 5s);
            auto nested = group.spawn([]() -> weir::task<> {
                auto [first, second] = co_await weir::gather(time_left(), time_left());
                EXPECT_EQ(first, 5s);
                EXPECT_EQ(second, 5s);
            });
            co_await nested;
        };
        co_await weir::with_group(body);
    };
    co_await weir::timeout(5s, in_group());
}

WEIR_TEST(Scope, IsNotInheritedByFreeTasks) {
    auto body = []() -> weir::task<weir::clock::duration> {
        auto free = weir::spawn(time_left());
        co_return co_await free;
    };
    const auto left = co_await weir::timeout(5s, body());
    EXPECT_EQ(left, weir::clock::duration::max());
}

TEST(ScopeOutside, IsTheEndOfTimeWithoutATask) {
    EXPECT_EQ(weir::current_deadline(), weir::clock::time_point::max());
}

WEIR_TEST(Scope, TryRescheduleAnswersWhetherItWasInTime) {
    weir::cancel_scope idle(1s);
    bool threw = false;
    try {
        (void)idle.try_reschedule_after(1s);
    } catch (const weir::invalid_state&) {
        threw = true;
    }
    EXPECT_TRUE(threw) << "before run";
    std::vector<bool> in_time;
    weir::event data;
    auto reads = [&]() -> weir::task<> {
        for (;;) {
            co_await data.wait();
            data.clear();
            in_time.push_back(idle.try_reschedule_after(1s));
        }
    };
    auto both = [&]() -> weir::task<> { co_await weir::gather(reads(), weir::sleep_forever()); };
    auto sends = [&]() -> weir::task<> {
        co_await weir::sleep(900ms);
        data.set();
        co_await weir::sleep(900ms);
        data.set();
        idle.cancel();
    };
    auto sending = weir::spawn(sends);
    const bool ended = co_await idle.run(both());
    EXPECT_FALSE(ended);
    EXPECT_EQ(weir::now().time_since_epoch() % 1h, 1800ms);
    WEIR_ASSERT_TRUE(!in_time.empty());
    EXPECT_TRUE(in_time.front());
    for (std::size_t at = 1; at < in_time.size(); ++at) {
        EXPECT_FALSE(in_time[at]);
    }
    EXPECT_FALSE(idle.try_reschedule(std::nullopt)) << "after the end";
    co_await sending;
}

WEIR_TEST(Scope, TheReasonOfACancelBelongsToTheScope) {
    std::string before_run;
    std::string of_scope;
    auto reason_of = [](std::string& to) -> weir::task<> {
        auto ended = co_await weir::intercept(weir::sleep_forever());
        to = ended.reason();
        co_await std::move(ended);
    };
    weir::cancel_scope early;
    early.cancel("too early");
    const bool first = co_await early.run(reason_of(before_run));
    EXPECT_FALSE(first);
    EXPECT_EQ(before_run, "too early");

    weir::cancel_scope scope;
    auto cancels = [&]() -> weir::task<> {
        co_await weir::sleep(1s);
        scope.cancel("enough");
    };
    auto cancelling = weir::spawn(cancels);
    const bool second = co_await scope.run(weir::timeout(1h, reason_of(of_scope)));
    EXPECT_FALSE(second);
    EXPECT_EQ(of_scope, "enough");
    co_await cancelling;
}

// The request was held by the gather and is pending again: it has not stopped anything.
WEIR_TEST(Scope, ACancellationOfAnotherTaskIsNotTakenForAStopThatIsStillPending) {
    auto victim = weir::spawn(weir::sleep(1h, 0));
    victim.cancel();
    co_await victim.wait();
    auto fails = []() -> weir::task<> {
        auto early = []() -> weir::task<> {
            throw std::runtime_error("early");
            co_return;
        };
        auto cleanup = []() -> weir::task<> { co_await weir::sleep(2s); };
        co_await weir::finally(early(), cleanup);
    };
    weir::cancel_scope scope(1s);
    auto work = [&]() -> weir::task<> {
        (void)co_await weir::settle(weir::gather(fails(), weir::sleep(1h)));
        (void)victim.result();  // throws, and is no suspension
    };
    WEIR_EXPECT_THROW(scope.run(work()), weir::cancelled);
    EXPECT_TRUE(scope.expired());
    EXPECT_FALSE(scope.caught());
}

// The deadline had passed at the entry; before the stop is delivered, another task puts it off.
WEIR_TEST(Scope, ALateDeadlineIsPutOffBeforeItTakesEffect) {
    weir::semaphore permits(0);
    weir::cancel_scope scope(0s);
    auto acquire = [&]() -> weir::task<> {
        auto permit = co_await permits.acquire();
        permit.detach();
    };
    auto work = [&]() -> weir::task<bool> { co_return co_await scope.run(acquire()); };
    auto started = weir::spawn(work(), {.start = weir::start::eager});
    EXPECT_FALSE(scope.expired());
    EXPECT_TRUE(scope.try_reschedule_after(2s));
    co_await weir::sleep(1s);
    EXPECT_FALSE(started.done()) << "it waits for a permit";
    permits.release();
    const bool was_in_time = co_await started;
    EXPECT_TRUE(was_in_time);
    EXPECT_FALSE(scope.expired());
    EXPECT_EQ(permits.value(), 0);
}

}  // namespace
