// SPDX-License-Identifier: MIT
// GA: gather. gather treats handles as asyncio's gather treats futures; it owns the tasks that it
// receives.

#include <weir/testing/testing.hpp>

#include <stdexcept>
#include <thread>

namespace {

using namespace std::chrono_literals;

weir::task<int> number_after(std::chrono::milliseconds time, int number) {
    co_await weir::sleep(time);
    co_return number;
}
weir::task<int> error_after(std::chrono::milliseconds time, const char* text) {
    co_await weir::sleep(time);
    throw std::runtime_error(text);
}

WEIR_TEST(Semantics, GA_01) {
    weir::handle<int> slow = weir::spawn(number_after(30ms, 1));
    weir::handle<int> quick = weir::spawn(number_after(10ms, 2));
    weir::handle<int> middle = weir::spawn(number_after(20ms, 3));
    const std::tuple<int, int, int> three = co_await weir::gather(slow, quick, middle);
    EXPECT_EQ(three, std::tuple(1, 2, 3));
    auto [a, b] = co_await weir::gather(number_after(2ms, 4), number_after(1ms, 5));
    EXPECT_EQ(a, 4);
    EXPECT_EQ(b, 5);

    // Without arguments, or with finished ones only: at once. Another task gets no turn.
    bool had_a_turn = false;
    auto other = [&]() -> weir::task<> {
        had_a_turn = true;
        co_return;
    };
    weir::handle<> watching = weir::spawn(other);
    const std::vector<int> none = co_await weir::gather(std::vector<weir::handle<int>>());
    EXPECT_TRUE(none.empty());
    co_await weir::gather(std::vector<weir::task<>>());
    std::vector<weir::handle<int>> finished{slow, quick};
    const std::vector<int> values = co_await weir::gather(std::move(finished));
    EXPECT_EQ(values, (std::vector<int>{1, 2}));
    EXPECT_FALSE(had_a_turn);
    co_await watching;
}

// Any report would fail the test: the later failure counts as retrieved.
WEIR_TEST(Semantics, GA_02) {
    {
        weir::handle<int> slow = weir::spawn(number_after(30ms, 1));
        weir::handle<int> first = weir::spawn(error_after(10ms, "first"));
        weir::handle<int> later = weir::spawn(error_after(20ms, "later"));
        const auto begin = weir::now();
        std::string thrown;
        try {
            (void)co_await weir::gather(slow, first, later);
        } catch (const std::runtime_error& error) {
            thrown = error.what();
        }
        EXPECT_EQ(thrown, "first");
        EXPECT_EQ(weir::now() - begin, 10ms);
        EXPECT_FALSE(slow.done());
        EXPECT_FALSE(later.done());
        const int value = co_await slow;
        EXPECT_EQ(value, 1);
        EXPECT_TRUE(later.failed());
    }
    co_await weir::sleep(1s);
}

// Tasks that gather owns are stopped and awaited instead.
WEIR_TEST(Semantics, GA_02_of_tasks) {
    bool ran_on = false;
    auto slow = [&]() -> weir::task<int> {
        co_await weir::sleep(30ms);
        ran_on = true;
        co_return 1;
    };
    WEIR_EXPECT_THROW(weir::gather(slow, error_after(10ms, "first")), std::runtime_error);
    co_await weir::sleep(1s);
    EXPECT_FALSE(ran_on);
}

WEIR_TEST(Semantics, GA_03) {
    weir::handle<int> good = weir::spawn(number_after(30ms, 1));
    weir::handle<int> bad = weir::spawn(error_after(10ms, "bad"));
    weir::handle<int> cancelled = weir::spawn(number_after(1h, 3));
    cancelled.cancel("not wanted");
    const auto begin = weir::now();
    auto [first, second, third] = co_await weir::gather_settled(good, bad, cancelled);
    EXPECT_EQ(weir::now() - begin, 30ms);
    EXPECT_EQ(first.value(), 1);
    EXPECT_EQ(weir::describe(second.error()), "bad");
    EXPECT_TRUE(third.is_cancelled());
    EXPECT_EQ(third.reason(), "not wanted");

    std::vector<weir::task<int>> work;
    work.push_back(error_after(2ms, "bad"));
    work.push_back(number_after(1ms, 2));
    const std::vector<weir::outcome<int>> outcomes = co_await weir::gather_settled(std::move(work));
    EXPECT_TRUE(outcomes[0].has_error());
    EXPECT_EQ(outcomes[1].value(), 2);
}

WEIR_TEST(Semantics, GA_04) {
    weir::handle<int> slow = weir::spawn(number_after(30ms, 1));
    weir::handle<int> victim = weir::spawn(number_after(1h, 2));
    auto gathering = [&]() -> weir::task<std::string> {
        std::string seen;
        try {
            (void)co_await weir::gather(slow, victim);
        } catch (const weir::cancelled& stop) {
            seen = "saw: " + stop.reason();
        }
        co_await weir::sleep(1ms);  // this task was not cancelled: it continues
        co_return seen;
    };
    weir::handle<std::string> running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    victim.cancel("enough");
    const std::string seen = co_await running;
    EXPECT_EQ(seen, "saw: enough");
    EXPECT_FALSE(running.cancelled());
    EXPECT_EQ(running.cancelling(), 0u);
    EXPECT_FALSE(slow.done());
    const int value = co_await slow;
    EXPECT_EQ(value, 1);
}

WEIR_TEST(Semantics, GA_05) {
    weir::handle<int> finished = weir::spawn(number_after(1ms, 0));
    weir::handle<int> one = weir::spawn(number_after(1h, 1));
    weir::handle<int> two = weir::spawn(number_after(1h, 2));
    weir::handle<std::tuple<int, int, int>> gathering =
        weir::spawn(weir::gather(finished, one, two));
    auto awaiting = [&]() -> weir::task<> { co_await gathering; };
    weir::handle<> outer = weir::spawn(awaiting);
    co_await weir::sleep(5ms);
    outer.cancel("all");
    co_await outer.wait();
    EXPECT_TRUE(outer.cancelled());
    EXPECT_TRUE(gathering.cancelled());
    co_await one.wait();
    co_await two.wait();
    EXPECT_TRUE(one.cancelled());
    EXPECT_TRUE(two.cancelled());
    EXPECT_EQ(finished.result(), 0);
}

WEIR_TEST(Semantics, GA_09) {
    auto slow_to_leave = []() -> weir::task<> {
        auto clean = []() -> weir::task<> { co_await weir::sleep(1s); };
        co_await weir::finally(weir::sleep_forever(), clean);
    };
    weir::handle<> slow = weir::spawn(slow_to_leave);
    weir::handle<int> quick = weir::spawn(number_after(1h, 1));
    auto gathering = [&]() -> weir::task<> { co_await weir::gather(slow, quick); };
    weir::handle<> running = weir::spawn(gathering);
    co_await weir::sleep(5ms);
    const auto begin = weir::now();
    running.cancel();
    co_await running.wait();
    EXPECT_TRUE(running.cancelled());
    EXPECT_EQ(weir::now(), begin);
    EXPECT_TRUE(quick.cancelled());
    EXPECT_FALSE(slow.done());
    co_await slow.wait();
    EXPECT_EQ(weir::now() - begin, 1s);
    EXPECT_TRUE(slow.cancelled());
}

WEIR_TEST(Semantics, GA_10) {
    int runs = 0;
    auto counting = [&]() -> weir::task<int> {
        co_await weir::sleep(1ms);
        co_return ++runs;
    };
    weir::handle<int> one = weir::spawn(counting);
    const std::tuple<int, int> both = co_await weir::gather(one, one);
    EXPECT_EQ(both, std::tuple(1, 1));
    std::vector<weir::handle<int>> thrice(3, one);
    const std::vector<int> values = co_await weir::gather(std::move(thrice));
    EXPECT_EQ(values, (std::vector<int>{1, 1, 1}));
    EXPECT_EQ(runs, 1);

    weir::loop elsewhere;
    weir::handle<int> foreign = elsewhere.spawn(number_after(0ms, 1));
    WEIR_EXPECT_THROW(weir::gather(one, foreign), weir::invalid_state);
    std::thread([&] { elsewhere.shutdown(); }).join();
}

WEIR_TEST(Semantics, GA_11) {
    // gather of shields: the waits end, the work survives.
    weir::handle<int> one = weir::spawn(number_after(20ms, 1));
    weir::handle<int> two = weir::spawn(number_after(30ms, 2));
    auto waiting = [&]() -> weir::task<> {
        co_await weir::gather(weir::shield(one), weir::shield(two));
        ADD_FAILURE() << "went on";
    };
    weir::handle<> waits = weir::spawn(waiting);
    co_await weir::sleep(5ms);
    const auto begin = weir::now();
    waits.cancel();
    co_await waits.wait();
    EXPECT_TRUE(waits.cancelled());
    EXPECT_EQ(weir::now(), begin);
    EXPECT_FALSE(one.done());
    EXPECT_FALSE(two.done());

    // shield of gather: the gather and its children run to their result.
    weir::handle<std::tuple<int, int>> gathering = weir::spawn(weir::gather(one, two));
    auto shielding = [&]() -> weir::task<> {
        (void)co_await weir::shield(gathering);
        ADD_FAILURE() << "went on";
    };
    weir::handle<> outer = weir::spawn(shielding);
    co_await weir::sleep(5ms);
    outer.cancel();
    co_await outer.wait();
    EXPECT_TRUE(outer.cancelled());
    const std::tuple<int, int> both = co_await gathering;
    EXPECT_EQ(both, std::tuple(1, 2));
}

WEIR_TEST(Semantics, GA_12) {
    int started = 0;
    int ended = 0;
    auto child = [&]() -> weir::task<int> {
        struct count_end {
            int& count;
            ~count_end() { ++count; }
        };
        ++started;
        count_end at_end{ended};
        co_await weir::sleep(1s);
        co_return 1;
    };
    weir::loop::current().set_eager(true);  // so that the first one has really begun
    weir::task<int> used = number_after(0ms, 1);
    co_await std::move(used);
    std::vector<weir::task<int>> work;
    work.push_back(child());
    work.push_back(std::move(used));  // cannot be started: it was consumed
    work.push_back(child());
    bool refused = false;
    try {
        (void)co_await weir::gather(std::move(work));
    } catch (const weir::invalid_state&) {
        refused = true;
    }
    weir::loop::current().set_eager(false);
    EXPECT_TRUE(refused);
    EXPECT_EQ(started, 1);  // tasks after the mistake are not started at all
    EXPECT_EQ(ended,
              1);  // started tasks have ended before the error is thrown: no reference can dangle
    co_await weir::sleep(2s);
}

WEIR_TEST(Semantics, GA_13) {
    weir::handle<int> slow = weir::spawn(number_after(30ms, 1));
    weir::handle<int> bad = weir::spawn(error_after(10ms, "bad"));
    weir::handle<std::tuple<int, int>> gathering = weir::spawn(weir::gather(slow, bad));
    WEIR_EXPECT_THROW(gathering, std::runtime_error);
    EXPECT_TRUE(gathering.done());
    EXPECT_FALSE(slow.done());
    EXPECT_FALSE(gathering.cancel());
    EXPECT_EQ(slow.cancelling(), 0u);
    const int value = co_await slow;
    EXPECT_EQ(value, 1);
}

}  // namespace
