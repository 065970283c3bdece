// SPDX-License-Identifier: MIT
// wait, as_completed and gather of handles: what they do to tasks that are not theirs, which is
// nothing.

#include "support.hpp"

#include <memory>

namespace {

using namespace combinators;

using handles = std::vector<weir::handle<int>>;

WEIR_TEST(Wait, TakesHandlesOfDifferentTypes) {
    weir::handle<int> number = weir::spawn(value_after(20ms, 1));
    weir::handle<> nothing = weir::spawn([]() -> weir::task<> { co_await weir::sleep(10ms); });
    std::vector<weir::any_handle> both{number, nothing};
    auto [done, pending] = co_await weir::wait(both, weir::wait_until::first_completed);
    WEIR_ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0], nothing);
    co_await number;
}

WEIR_TEST(Wait, ForOneselfIsRefused) {
    auto waits = []() -> weir::task<> {
        std::vector<weir::any_handle> self{weir::current_task()};
        (void)co_await weir::wait(self, 1s);
    };
    weir::handle<> running = weir::spawn(waits);
    WEIR_EXPECT_THROW(running, weir::invalid_state);
}

WEIR_TEST(Wait, ManyAtOnceSeeTheSameTasks) {
    handles all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(weir::spawn(value_after(std::chrono::milliseconds(10 * i), i)));
    }
    auto watcher = [&](std::chrono::milliseconds limit) -> weir::task<std::size_t> {
        auto [done, pending] = co_await weir::wait(all, limit);
        EXPECT_EQ(done.size() + pending.size(), 20u);
        co_return done.size();
    };
    std::vector<weir::task<std::size_t>> watchers;
    for (int i = 0; i < 20; ++i) {
        watchers.push_back(watcher(std::chrono::milliseconds(10 * i + 5)));
    }
    const std::vector<std::size_t> counts = co_await weir::gather(std::move(watchers));
    for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(counts[i], i + 1);
    }
}

// Takers that are stopped after they were granted something give it back: nothing is lost.
WEIR_TEST(AsCompleted, WhatAStoppedTakerWasGrantedGoesToTheNext) {
    handles all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(weir::spawn(value_after(10ms, i)));
    }
    auto finished = weir::as_completed(all);
    std::vector<int> got;
    auto taker = [&]() -> weir::task<> {
        while (auto next = co_await finished.next()) {
            got.push_back(next->result());
        }
    };
    std::vector<weir::handle<>> takers;
    for (int i = 0; i < 8; ++i) {
        takers.push_back(weir::spawn(taker));
    }
    // Stops half of them at the very moment of the completions.
    auto stopper = [&]() -> weir::task<> {
        co_await all[0].wait();
        for (std::size_t i = 0; i < takers.size(); i += 2) {
            takers[i].cancel();
        }
    };
    weir::handle<> stopping = weir::spawn(stopper);
    (void)co_await weir::gather_settled(takers);
    co_await stopping;
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4}));
    EXPECT_EQ(finished.remaining(), 0u);
}

WEIR_TEST(AsCompleted, OutlivesItsOwnerWhileSomebodyTakes) {
    handles all;
    all.push_back(weir::spawn(value_after(10ms, 1)));
    auto finished = std::make_unique<weir::completions<int>>(weir::as_completed(all, 1h));
    auto taker = [&]() -> weir::task<int> {
        auto next = co_await finished->next();
        co_return next->result();
    };
    weir::handle<int> taking = weir::spawn(taker);
    co_await weir::sleep(5ms);
    finished.reset();
    const int value = co_await taking;
    EXPECT_EQ(value, 1);
}

WEIR_TEST(AsCompleted, ExpiryIsToldOncePerTaskThatWasLate) {
    handles all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(weir::spawn(value_after(std::chrono::milliseconds(10 + 10 * i), i)));
    }
    auto finished = weir::as_completed(all, 25ms);
    int values = 0;
    int expiries = 0;
    int ends = 0;
    auto taker = [&]() -> weir::task<> {
        try {
            auto next = co_await finished.next();
            (next ? values : ends) += 1;
        } catch (const weir::timed_out&) {
            ++expiries;
        }
    };
    std::vector<weir::task<>> takers;
    for (int i = 0; i < 6; ++i) {
        takers.push_back(taker());
    }
    co_await weir::gather(std::move(takers));
    EXPECT_EQ(values, 2);
    EXPECT_EQ(expiries, 2);
    EXPECT_EQ(ends, 2);
    (void)co_await weir::gather(all);
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

WEIR_TEST(Shield, AStopDuringShieldedWorkTakesEffectAfterIt) {
    int steps = 0;
    auto work = [&]() -> weir::task<int> {
        co_await weir::sleep(10ms);
        ++steps;
        co_await weir::sleep(10ms);
        ++steps;
        co_return 1;
    };
    auto shielding = [&]() -> weir::task<> {
        (void)co_await weir::shield(work);
        ADD_FAILURE() << "went on";
    };
    weir::handle<> running = weir::spawn(shielding);
    co_await weir::sleep(5ms);
    const auto begin = weir::now();
    running.cancel();
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(steps, 2);
    EXPECT_EQ(weir::now() - begin, 15ms);
}

WEIR_TEST(Shield, WorkThatThrowsBeatsTheStop) {
    auto shielding = []() -> weir::task<> { (void)co_await weir::shield(failure_after(10ms, 1)); };
    weir::handle<> running = weir::spawn(shielding);
    co_await weir::sleep(5ms);
    running.cancel();
    WEIR_EXPECT_THROW(running, failure);
}

WEIR_TEST(Shield, ATimeoutInsideStillWorks) {
    auto inner = []() -> weir::task<bool> {
        bool expired = false;
        try {
            co_await weir::timeout(10ms, weir::sleep_forever());
        } catch (const weir::timed_out&) {
            expired = true;
        }
        co_return expired;
    };
    const bool expired = co_await weir::shield(inner);
    EXPECT_TRUE(expired);
    const int value = co_await weir::timeout_or(10ms, weir::shield(value_after(20ms, 1)), 2);
    EXPECT_EQ(value, 2);  // the limit was passed while it was shielded: stop beats value
}

}  // namespace
