// SPDX-License-Identifier: MIT
// Sleeping, under simulated time.

#include <weir/testing/testing.hpp>

namespace {

using namespace std::chrono_literals;

weir::task<int> answer() {
    co_await weir::sleep(1h);
    co_return 42;
}

WEIR_TEST(Time, ASleepTakesNoRealTimeInATest) {
    const auto begin = weir::now();
    const int got = co_await answer();
    WEIR_ASSERT_EQ(got, 42);
    EXPECT_EQ(weir::now() - begin, 1h);
}

WEIR_TEST(Time, SleepsEndInTheOrderOfTheirDeadlines) {
    std::string order;
    auto sleeper = [&](weir::clock::duration delay, char name) -> weir::task<> {
        co_await weir::sleep(delay);
        order += name;
    };
    auto late = weir::spawn(sleeper, 2s, 'b');
    auto early = weir::spawn(sleeper, 1s, 'a');
    auto overdue = weir::spawn(sleeper, -1s, '0');
    co_await late;
    EXPECT_EQ(order, "0ab");
    EXPECT_TRUE(early.done() && overdue.done());
}

// With real time and without schedules, which have each yield suspend.

TEST(Time, ATaskThatYieldsAloneStarvesNeitherTimersNorPosts) {
    weir::run([]() -> weir::task<> {
        bool is_posted = false;
        auto sleeper = weir::spawn([]() -> weir::task<> { co_await weir::sleep(1ms); });
        weir::loop::current().post([&] { is_posted = true; });
        while (!is_posted || !sleeper.done()) {
            co_await weir::yield();
        }
    });
}

TEST(Time, ATaskThatYieldsAloneCanBeStopped) {
    weir::run([]() -> weir::task<> {
        int rounds = 0;
        auto yields = [&]() -> weir::task<> {
            weir::cancel_scope own;
            auto work = [&]() -> weir::task<> {
                for (;;) {
                    if (++rounds == 5) {
                        own.cancel();
                    }
                    co_await weir::yield();
                }
            };
            co_await own.run(work());
        };
        co_await yields();
        EXPECT_EQ(rounds, 5);
        auto endless = []() -> weir::task<int> {
            for (;;) {
                co_await weir::yield();
            }
            co_return 1;
        };
        const int timed = co_await weir::timeout_or(1ms, endless(), 2);
        EXPECT_EQ(timed, 2);
    });
}

TEST(Time, AYieldEndsTheFirstStepOfAnEagerStart) {
    weir::run([]() -> weir::task<> {
        std::string order;
        auto first = [&]() -> weir::task<> {
            order += 'a';
            co_await weir::yield();
            order += 'c';
        };
        auto running = weir::spawn({.start = weir::start::eager}, first);
        order += 'b';
        co_await running;
        EXPECT_EQ(order, "abc");
    });
}

TEST(Time, AYieldLetsRunWhatIsReady) {
    weir::run([]() -> weir::task<> {
        std::string order;
        weir::loop::current().call_soon([&] { order += 'a'; });
        co_await weir::yield();
        order += 'b';
        weir::event set;
        auto waiter = weir::spawn([&]() -> weir::task<> {
            co_await set.wait();
            order += 'c';
        });
        co_await weir::yield();
        set.set();
        co_await weir::yield();
        EXPECT_EQ(order, "abc");
        co_await waiter;
    });
}

}  // namespace
