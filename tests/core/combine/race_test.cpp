// SPDX-License-Identifier: MIT
// race: the first success, the rest stopped and awaited.

#include "support.hpp"

#include <memory>

namespace {

using namespace combinators;

WEIR_TEST(Race, TheFirstSuccessWinsAndTheRestAreStoppedAndAwaited) {
    int live = 0;
    const auto begin = weir::now();
    const int first =
        co_await weir::race(stubborn(live, 20ms), value_after(10ms, 2), value_after(11ms, 3));
    EXPECT_EQ(first, 2);
    EXPECT_EQ(live, 0);
    EXPECT_EQ(weir::now() - begin, 30ms);
}

WEIR_TEST(Race, AFailureIsNotASuccess) {
    const int first =
        co_await weir::race(failure_after(1ms, 1), value_after(10ms, 2), failure_after(5ms, 3));
    EXPECT_EQ(first, 2);
}

WEIR_TEST(Race, IfAllFailTheErrorsComeInTheOrderOfTheArguments) {
    std::vector<std::string> messages;
    try {
        (void)co_await weir::race(failure_after(30ms, 1), failure_after(10ms, 2),
                                  failure_after(20ms, 3));
    } catch (const weir::error_group& all) {
        for (const std::exception_ptr& each : all.errors()) {
            messages.push_back(weir::describe(each));
        }
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"failure 1", "failure 2", "failure 3"}));
}

WEIR_TEST(Race, ACancelledOneIsOut) {
    weir::handle<int> other = weir::spawn(value_after(1h, 1));
    auto observer = [&]() -> weir::task<int> {
        other.cancel();
        co_return co_await other;
    };
    const int first = co_await weir::race(observer, value_after(10ms, 2));
    EXPECT_EQ(first, 2);
    bool found = false;
    std::vector<weir::handle<int>> handles{other};
    try {
        (void)co_await weir::race(std::move(handles));
    } catch (const weir::error_group& all) {
        found = all.contains<weir::cancelled>();
    }
    EXPECT_TRUE(found);
}

WEIR_TEST(Race, DifferentTypesGiveAVariant) {
    auto text = []() -> weir::task<std::string> {
        co_await weir::sleep(1ms);
        co_return "text";
    };
    std::variant<int, std::string, weir::unit> first =
        co_await weir::race(value_after(2ms, 1), text, weir::sleep(3ms));
    WEIR_ASSERT_EQ(first.index(), 1u);
    EXPECT_EQ(std::get<1>(first), "text");
}

WEIR_TEST(Race, OneTypeGivesThatType) {
    auto nothing = []() -> weir::task<> { co_await weir::sleep(1ms); };
    static_assert(std::is_same_v<decltype(weir::race(nothing, nothing)), weir::task<void>>);
    co_await weir::race(nothing, nothing);
    auto owned = [](std::chrono::milliseconds time) -> weir::task<std::unique_ptr<int>> {
        co_await weir::sleep(time);
        co_return std::make_unique<int>(static_cast<int>(time.count()));
    };
    std::vector<weir::task<std::unique_ptr<int>>> work;
    work.push_back(owned(3ms));
    work.push_back(owned(2ms));
    const std::unique_ptr<int> first = co_await weir::race(std::move(work));
    EXPECT_EQ(*first, 2);
}

WEIR_TEST(Race, OfNothingIsRefused) {
    EXPECT_THROW((void)weir::race(std::vector<weir::task<int>>()), weir::invalid_argument);
    co_return;
}

WEIR_TEST(Race, AStopStopsAndAwaitsAll) {
    int live = 0;
    auto racing = [&]() -> weir::task<> {
        (void)co_await weir::race(stubborn(live, 30ms), failure_after(1ms, 1),
                                  stubborn(live, 10ms));
        ADD_FAILURE() << "went on";
    };
    weir::handle<> running = weir::spawn(racing);
    co_await weir::sleep(5ms);
    const auto begin = weir::now();
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(live, 0);
    EXPECT_EQ(weir::now() - begin, 30ms);
}

WEIR_TEST(Race, AStopWhileTheLosersEndBeatsTheValue) {
    int live = 0;
    bool went_on = false;
    auto racing = [&]() -> weir::task<> {
        (void)co_await weir::race(value_after(1ms, 1), stubborn(live, 30ms));
        went_on = true;
    };
    weir::handle<> running = weir::spawn(racing);
    co_await weir::sleep(10ms);
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_FALSE(went_on);
    EXPECT_EQ(live, 0);
}

WEIR_TEST(Race, ALoserThatFailsWhileItIsStoppedIsReported) {
    reports told;
    auto loser = []() -> weir::task<int> {
        auto clean = []() -> weir::task<> {
            throw failure(1);
            co_return;
        };
        co_await weir::finally(weir::sleep_forever(), clean);
        co_return 0;
    };
    const int first = co_await weir::race(loser, value_after(1ms, 2));
    EXPECT_EQ(first, 2);
    EXPECT_EQ(told.count(weir::report_kind::suppressed_error), 1u);
}

WEIR_TEST(Race, AnEagerWinnerKeepsTheOthersFromStarting) {
    weir::loop::current().set_eager(true);
    bool started = false;
    auto second = [&]() -> weir::task<int> {
        started = true;
        co_return 2;
    };
    auto at_once = []() -> weir::task<int> { co_return 1; };
    const int first = co_await weir::race(at_once, second);
    EXPECT_EQ(first, 1);
    EXPECT_FALSE(started);
    weir::loop::current().set_eager(false);
}

WEIR_TEST(Race, TheTreeShowsWhoRaces) {
    std::string tree;
    auto looker = [&]() -> weir::task<int> {
        co_await weir::sleep(1ms);
        tree = weir::dump_tasks();
        EXPECT_EQ(weir::all_tasks().size(), 3u);
        co_return 1;
    };
    int live = 0;
    const int first = co_await weir::race(looker, stubborn(live, 1ms));
    EXPECT_EQ(first, 1);
    EXPECT_NE(tree.find("[race]"), std::string::npos) << tree;
}

}  // namespace
