// SPDX-License-Identifier: MIT
// gather and gather_settled of tasks, which they own.

#include "support.hpp"

#include <memory>

namespace {

using namespace combinators;
using handles = std::vector<weir::handle<int>>;

weir::task<std::string> text_after(std::chrono::milliseconds time, std::string text) {
    co_await weir::sleep(time);
    co_return text;
}
weir::task<> nothing_after(std::chrono::milliseconds time) {
    co_await weir::sleep(time);
}
weir::task<std::unique_ptr<int>> owned_after(std::chrono::milliseconds time, int value) {
    co_await weir::sleep(time);
    co_return std::make_unique<int>(value);
}
weir::task<int&> reference_to(int& referred) {
    co_await weir::yield();
    co_return referred;
}

WEIR_TEST(Gather, GivesATupleInTheOrderOfTheArguments) {
    const auto begin = weir::now();
    auto [number, nothing, text, owned] = co_await weir::gather(
        value_after(30ms, 1), nothing_after(10ms), text_after(20ms, "two"), owned_after(0ms, 3));
    static_assert(std::is_same_v<decltype(nothing), weir::unit>);
    EXPECT_EQ(number, 1);
    EXPECT_EQ(text, "two");
    EXPECT_EQ(*owned, 3);
    EXPECT_EQ(weir::now() - begin, 30ms);
}

WEIR_TEST(Gather, GivesAVectorInTheOrderOfTheTasks) {
    std::vector<weir::task<int>> work;
    for (int i = 0; i < 100; ++i) {
        work.push_back(value_after(std::chrono::milliseconds((i * 37) % 100), i));
    }
    const std::vector<int> values = co_await weir::gather(std::move(work));
    WEIR_ASSERT_EQ(values.size(), 100u);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
    }
}

WEIR_TEST(Gather, ReferencesAndMoveOnlyValues) {
    int a = 1;
    int b = 2;
    auto both = co_await weir::gather(reference_to(a), reference_to(b));
    std::get<0>(both) = 10;
    EXPECT_EQ(a, 10);
    std::vector<weir::task<int&>> work;
    work.push_back(reference_to(a));
    work.push_back(reference_to(b));
    std::vector<std::reference_wrapper<int>> list = co_await weir::gather(std::move(work));
    list[1].get() = 20;
    EXPECT_EQ(b, 20);
    std::vector<weir::task<std::unique_ptr<int>>> owned;
    owned.push_back(owned_after(1ms, 7));
    const std::vector<std::unique_ptr<int>> values = co_await weir::gather(std::move(owned));
    EXPECT_EQ(*values.at(0), 7);
}

WEIR_TEST(Gather, NothingHasNoValue) {
    static_assert(std::is_same_v<decltype(weir::gather(nothing_after(1ms), nothing_after(1ms))),
                                 weir::task<void>>);
    co_await weir::gather(nothing_after(1ms), nothing_after(2ms));
    std::vector<weir::task<>> work;
    work.push_back(nothing_after(1ms));
    co_await weir::gather(std::move(work));
    const auto begin = weir::now();
    co_await weir::gather(std::vector<weir::task<>>());
    const std::vector<int> none = co_await weir::gather(std::vector<weir::task<int>>());
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(weir::now(), begin);
}

WEIR_TEST(Gather, TakesOperationsHandlesAndCallables) {
    auto make = []() -> weir::task<int> {
        co_await weir::sleep(5ms);
        co_return 5;
    };
    weir::handle<int> started = weir::spawn(value_after(3ms, 3));
    auto [slept, made, awaited] = co_await weir::gather(weir::sleep(1ms), make, started);
    static_assert(std::is_same_v<decltype(slept), weir::unit>);
    EXPECT_EQ(made, 5);
    EXPECT_EQ(awaited, 3);
    EXPECT_EQ(started.result(), 3);
}

WEIR_TEST(Gather, TheFirstFailureStopsAndAwaitsTheRest) {
    int live = 0;
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(
        weir::gather(stubborn(live, 50ms), failure_after(10ms, 1), stubborn(live, 20ms)), failure);
    EXPECT_EQ(live, 0);
    EXPECT_EQ(weir::now() - begin, 60ms);
}

weir::task<int> fails_when_stopped(int number) {
    auto clean = [number]() -> weir::task<> {
        co_await weir::yield();
        throw failure(number);
    };
    co_await weir::finally(weir::sleep_forever(), clean);
    co_return 0;
}

WEIR_TEST(Gather, ThrowsTheFirstErrorAndReportsLaterOnes) {
    reports told;
    int thrown = 0;
    try {
        co_await weir::gather(fails_when_stopped(1), failure_after(10ms, 2), fails_when_stopped(3));
    } catch (const failure& error) {
        thrown = error.number;
    }
    EXPECT_EQ(thrown, 2);
    EXPECT_EQ(told.count(weir::report_kind::suppressed_error), 2u);
    EXPECT_EQ(told.kinds.size(), 2u);
}

WEIR_TEST(Gather, AChildThatEndsCancelledIsAFailure) {
    int live = 0;
    weir::handle<int> other = weir::spawn(value_after(1h, 1));
    auto observer = [&]() -> weir::task<int> {
        other.cancel("enough");
        co_return co_await other;
    };
    std::string reason;
    try {
        co_await weir::gather(observer, stubborn(live, 10ms));
    } catch (const weir::cancelled& stop) {
        reason = stop.reason();
    }
    EXPECT_EQ(reason, "enough");
    EXPECT_EQ(live, 0);
}

WEIR_TEST(Gather, AStopStopsAndAwaitsAll) {
    int live = 0;
    bool went_on = false;
    auto gathering = [&]() -> weir::task<> {
        co_await weir::gather(stubborn(live, 30ms), stubborn(live, 10ms), value_after(1ms, 1));
        went_on = true;
    };
    weir::handle<> running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    EXPECT_EQ(live, 2);
    const auto begin = weir::now();
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(live, 0);
    EXPECT_FALSE(went_on);
    EXPECT_EQ(weir::now() - begin, 30ms);
}

WEIR_TEST(Gather, AnErrorBeatsTheStop) {
    auto gathering = []() -> weir::task<> {
        co_await weir::gather(fails_when_stopped(1), value_after(1h, 1));
    };
    weir::handle<> running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    running.cancel();
    WEIR_EXPECT_THROW(running, failure);
}

WEIR_TEST(Gather, AStopAfterTheFailureIsNotLost) {
    bool caught = false;
    bool went_on = false;
    int live = 0;
    auto gathering = [&]() -> weir::task<> {
        try {
            co_await weir::gather(failure_after(1ms, 1), stubborn(live, 50ms));
        } catch (const failure&) {
            caught = true;
        }
        co_await weir::yield();
        went_on = true;
    };
    weir::handle<> running = weir::spawn(gathering);
    co_await weir::sleep(20ms);
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(caught);
    EXPECT_FALSE(went_on);
    EXPECT_TRUE(running.cancelled());
}

WEIR_TEST(Gather, IsStoppedByATimeoutAroundIt) {
    int live = 0;
    WEIR_EXPECT_THROW(weir::timeout(10ms, weir::gather(stubborn(live, 1ms), value_after(1h, 2))),
                      weir::timed_out);
    EXPECT_EQ(live, 0);
}

WEIR_TEST(Gather, CanBeSpawned) {
    weir::handle<std::tuple<int, int>> running =
        weir::spawn(weir::gather(value_after(1ms, 1), value_after(2ms, 2)));
    const std::tuple<int, int> both = co_await running;
    EXPECT_EQ(both, std::tuple(1, 2));
}

WEIR_TEST(Gather, ATaskThatWasConsumedStopsTheOthersAtOnce) {
    int live = 0;
    weir::task<int> used = value_after(0ms, 1);
    co_await std::move(used);
    WEIR_EXPECT_THROW(weir::gather(stubborn(live, 1ms), std::move(used), stubborn(live, 1ms)),
                      weir::invalid_state);
    EXPECT_EQ(live, 0);
}

WEIR_TEST(Gather, EagerChildrenMayEndWhileTheyAreStarted) {
    weir::loop::current().set_eager(true);
    auto at_once = [](int value) -> weir::task<int> { co_return value; };
    auto [one, two] = co_await weir::gather(at_once(1), at_once(2));
    EXPECT_EQ(one + two, 3);
    int live = 0;
    auto fails = []() -> weir::task<int> {
        throw failure(1);
        co_return 0;
    };
    WEIR_EXPECT_THROW(weir::gather(stubborn(live, 1ms), fails, stubborn(live, 1ms)), failure);
    EXPECT_EQ(live, 0);
    weir::loop::current().set_eager(false);
}

WEIR_TEST(Gather, OfNothingIsNoPlaceToStop) {
    bool went_on = false;
    auto stops_itself = [&]() -> weir::task<> {
        weir::current_task().cancel();
        co_await weir::gather(std::vector<weir::task<>>());
        went_on = true;
        co_await weir::yield();
        ADD_FAILURE() << "went on";
    };
    weir::handle<> running = weir::spawn(stops_itself);
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_TRUE(went_on);
}

// Past the deadline of the shutdown shields break, those of children too.
TEST(Gather, ChildrenEndWithTheLoop) {
    int live = 0;
    auto main_task = [&]() -> weir::task<> {
        auto child = [&]() -> weir::task<> {
            const alive counted(live);
            co_await weir::shield(weir::sleep_forever());
        };
        auto gathering = [child]() -> weir::task<> { co_await weir::gather(child(), child()); };
        weir::spawn(gathering);
        co_await weir::sleep(1ms);
        EXPECT_EQ(live, 2);
    };
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.shutdown_deadline = 1s;
    weir::run(main_task(), std::move(options));
    EXPECT_EQ(live, 0);
}

WEIR_TEST(Gather, DeepNestingIsStoppedInConstantStack) {
    int live = 0;
    struct nested {
        static weir::task<int> at(int depth, int& live) {
            const alive counted(live);
            if (depth == 0) {
                co_await weir::sleep_forever();
                co_return 0;
            }
            auto [inner] = co_await weir::gather(at(depth - 1, live));
            co_return inner;
        }
    };
    weir::handle<int> running = weir::spawn(nested::at(20000, live));
    co_await weir::sleep(1s);
    EXPECT_EQ(live, 20001);
    running.cancel();
    co_await running.wait();
    EXPECT_EQ(live, 0);
}

WEIR_TEST(GatherSettled, EachOutcomeAtItsPlace) {
    weir::handle<int> other = weir::spawn(value_after(1h, 1));
    auto observer = [&]() -> weir::task<int> {
        other.cancel();
        co_return co_await other;
    };
    std::vector<weir::task<int>> work;
    work.push_back(value_after(20ms, 1));
    work.push_back(failure_after(10ms, 2));
    work.push_back(observer());
    work.push_back(value_after(0ms, 4));
    std::vector<weir::outcome<int>> outcomes = co_await weir::gather_settled(std::move(work));
    WEIR_ASSERT_EQ(outcomes.size(), 4u);
    EXPECT_EQ(outcomes[0].value(), 1);
    EXPECT_TRUE(outcomes[1].has_error());
    EXPECT_TRUE(outcomes[2].is_cancelled());
    const weir::partitioned<int> sorted = weir::partition(std::move(outcomes));
    WEIR_ASSERT_EQ(sorted.values.size(), 2u);
    EXPECT_EQ(sorted.values[1].index, 3u);
    EXPECT_EQ(sorted.values[1].value, 4);
    WEIR_ASSERT_EQ(sorted.errors.size(), 1u);
    EXPECT_EQ(sorted.errors[0].index, 1u);
    EXPECT_EQ(weir::describe(sorted.errors[0].error), "failure 2");
    EXPECT_EQ(sorted.cancelled, std::vector<std::size_t>{2});
}

WEIR_TEST(GatherSettled, TupleAndVoid) {
    auto [number, nothing, failed] = co_await weir::gather_settled(
        value_after(1ms, 1), nothing_after(1ms), failure_after(1ms, 1));
    EXPECT_EQ(number.value(), 1);
    EXPECT_TRUE(nothing.has_value());
    EXPECT_TRUE(failed.has_error());
    std::vector<weir::task<>> work;
    work.push_back(nothing_after(1ms));
    const weir::partitioned<void> sorted =
        weir::partition(co_await weir::gather_settled(std::move(work)));
    EXPECT_EQ(sorted.values.size(), 1u);
}

WEIR_TEST(GatherSettled, AStopStopsAndAwaitsAll) {
    int live = 0;
    auto gathering = [&]() -> weir::task<> {
        (void)co_await weir::gather_settled(stubborn(live, 30ms), failure_after(1ms, 1),
                                            fails_when_stopped(2));
        ADD_FAILURE() << "went on";
    };
    weir::handle<> running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(live, 0);
}

WEIR_TEST(GatherHandles, AStopThatAllAnswerWithValuesStillStops) {
    auto swallows = []() -> weir::task<int> {
        (void)co_await weir::intercept(weir::sleep_forever());
        co_return 1;
    };
    weir::handle<int> one = weir::spawn(swallows);
    weir::handle<int> two = weir::spawn(swallows);
    auto gathering = [&]() -> weir::task<> {
        (void)co_await weir::gather(one, two);
        ADD_FAILURE() << "went on";
    };
    weir::handle<> running = weir::spawn(gathering);
    co_await weir::sleep(1ms);
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(one.result() + two.result(), 2);
}

WEIR_TEST(GatherHandles, AnErrorBeatsTheStop) {
    auto fails = []() -> weir::task<int> {
        (void)co_await weir::intercept(weir::sleep_forever());
        throw failure(1);
    };
    weir::handle<int> one = weir::spawn(fails);
    weir::handle<int> two = weir::spawn(value_after(1h, 2));
    auto gathering = [&]() -> weir::task<> {
        bool caught = false;
        try {
            (void)co_await weir::gather(one);
        } catch (const failure&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        co_await weir::yield();  // the request was answered by the error
    };
    weir::handle<> running = weir::spawn(gathering);
    co_await weir::sleep(1ms);
    running.cancel();
    co_await running;
    two.cancel();
    co_await two.wait();
}

WEIR_TEST(GatherHandles, MoveOnlyValuesAreMoved) {
    auto owned = [](int value) -> weir::task<std::unique_ptr<int>> {
        co_await weir::yield();
        co_return std::make_unique<int>(value);
    };
    auto [one, two] = co_await weir::gather(weir::spawn(owned, 1), weir::spawn(owned, 2));
    EXPECT_EQ(*one + *two, 3);
}

// Two tasks that gather each other never end: a stop must not go round in circles for ever.
TEST(GatherHandles, ACycleIsADeadlockThatIsNoticed) {
    auto circle = []() -> weir::task<> {
        weir::handle<> one;
        weir::handle<> two;
        auto first = [&]() -> weir::task<> { co_await weir::gather(two); };
        auto second = [&]() -> weir::task<> { co_await weir::gather(one); };
        one = weir::spawn(first);
        two = weir::spawn(second);
        co_await weir::sleep(1ms);
        one.cancel();
        co_await one.wait();
    };
    weir::loop_options options;
    options.driver = weir::driver_kind::simulated;
    options.on_report = [](const weir::report&) {};
    EXPECT_THROW(weir::run(circle(), std::move(options)), weir::deadlock);
}

// Fails after one millisecond, then cleans up for twenty.
weir::task<int> fails_early() {
    auto clean = []() -> weir::task<> { co_await weir::sleep(20ms); };
    co_return co_await weir::finally(failure_after(1ms, 1), clean);
}

WEIR_TEST(Gather, AChildThatHadFailedBeforeTheStopDoesNotAnswerIt) {
    for (const bool of_handles : {false, true}) {
        bool caught = false;
        bool went_on = false;
        auto first = weir::spawn(of_handles ? fails_early() : value_after(0ms, 1));
        auto second = weir::spawn(of_handles ? fails_early() : value_after(0ms, 1));
        auto gathering = [&]() -> weir::task<> {
            try {
                if (of_handles) {
                    co_await weir::gather(first, second);
                } else {
                    co_await weir::gather(fails_early(), value_after(1h, 1));
                }
            } catch (const failure&) {
                caught = true;
            }
            co_await weir::sleep(1h);
            went_on = true;
        };
        auto running = weir::spawn(gathering);
        co_await weir::sleep(5ms);
        running.cancel("because");
        co_await running.wait();
        EXPECT_TRUE(running.cancelled());
        EXPECT_TRUE(caught);
        EXPECT_FALSE(went_on);
        std::string reason;
        try {
            co_await running;
        } catch (const weir::cancelled& stop) {
            reason = stop.reason();
        }
        EXPECT_EQ(reason, "because");
        co_await first.wait();
        co_await second.wait();
    }
}

// The timeout expires while the children answer the cancel: it must not take the cancel's place.
WEIR_TEST(Gather, ASecondStopWhileOneIsHeldReplacesNothing) {
    int live = 0;
    bool went_on = false;
    auto gathering = [&]() -> weir::task<> {
        try {
            co_await weir::timeout(10ms, weir::gather(stubborn(live, 50ms), value_after(1h, 1)));
        } catch (const weir::timed_out&) {
        }
        co_await weir::sleep(1h);
        went_on = true;
    };
    auto running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_FALSE(went_on);
    EXPECT_EQ(live, 0);
}

WEIR_TEST(Gather, AnErrorThatAnswersTheStopSpendsIt) {
    bool went_on = false;
    auto gathering = [&]() -> weir::task<> {
        try {
            co_await weir::gather(fails_when_stopped(1), value_after(1h, 1));
        } catch (const failure&) {
        }
        co_await weir::sleep(1ms);
        went_on = true;
    };
    auto running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    running.cancel();
    co_await running;
    EXPECT_TRUE(went_on);
}

WEIR_TEST(Gather, AStopBeatsTheCancellationOfAChild) {
    int live = 0;
    bool seen = false;
    weir::handle<int> victim = weir::spawn(value_after(1h, 1));
    auto follows = [&]() -> weir::task<int> { co_return co_await weir::shield(victim); };
    auto gathering = [&]() -> weir::task<> {
        try {
            co_await weir::gather(follows(), stubborn(live, 50ms));
        } catch (const weir::cancelled&) {
            seen = true;
        }
    };
    auto running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    victim.cancel();
    co_await weir::sleep(5ms);
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_FALSE(seen);
    EXPECT_EQ(live, 0);
}

}  // namespace
