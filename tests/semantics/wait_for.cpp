// SPDX-License-Identifier: MIT
// Group WF: wait_for, which is weir::timeout.

#include "support/fifo_test.hpp"

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weir::task;

task<> forever() {
    co_await weir::sleep_forever();
}

FIFO_TEST(Semantics, WF_01) {
    const int got = co_await weir::timeout(10s, weir::sleep(1s, 3));
    EXPECT_EQ(got, 3);
    auto fails = []() -> task<> {
        co_await weir::sleep(1s);
        throw std::runtime_error("x");
    };
    WEIR_EXPECT_THROW(weir::timeout(10s, fails()), std::runtime_error);
    // No limit: wait for ever.
    const int late =
        co_await weir::timeout_at(weir::clock::time_point::max(), weir::sleep(24h * 1000, 4));
    EXPECT_EQ(late, 4);
    // A result set in the loop before the timer wins.
    weir::event done;
    weir::loop::current().call_later(1s, [&] { done.set(); });
    auto work = [&]() -> task<int> {
        co_await done.wait();
        co_return 5;
    };
    const int raced = co_await weir::timeout(1s + 1ns, work());
    EXPECT_EQ(raced, 5);
}

WEIR_TEST(Semantics, WF_02) {
    bool cleaned = false;
    auto work = [&]() -> task<> {
        auto cleanup = [&]() -> task<> {
            co_await weir::sleep(2s);
            cleaned = true;
        };
        co_await weir::finally(weir::sleep_forever(), cleanup);
    };
    const auto begin = weir::now();
    WEIR_EXPECT_THROW(weir::timeout(1s, work()), weir::timed_out);
    EXPECT_TRUE(cleaned);
    EXPECT_EQ(weir::now() - begin, 3s);
    // A task of its own, awaited by its handle: the same.
    cleaned = false;
    auto started = weir::spawn(work);
    WEIR_EXPECT_THROW(weir::timeout(1s, started), weir::timed_out);
    EXPECT_TRUE(cleaned);
    EXPECT_TRUE(started.cancelled());
    auto ignores = []() -> task<int> {
        (void)co_await weir::intercept(forever());
        co_await weir::sleep(5s);
        co_return 1;
    };
    const auto second = weir::now();
    const int got = co_await weir::timeout(1s, ignores());
    EXPECT_EQ(got, 1);
    EXPECT_EQ(weir::now() - second, 6s);
}

WEIR_TEST(Semantics, WF_03) {
    auto returns = []() -> task<int> {
        try {
            co_await weir::catchable(forever());
        } catch (const weir::cancelled&) {
        }
        co_return 8;
    };
    auto throws = []() -> task<int> {
        try {
            co_await weir::catchable(forever());
        } catch (const weir::cancelled&) {
            throw std::runtime_error("instead");
        }
        co_return 1;
    };
    const int inline_value = co_await weir::timeout(1s, returns());
    EXPECT_EQ(inline_value, 8);
    WEIR_EXPECT_THROW(weir::timeout(1s, throws()), std::runtime_error);
    const int value = co_await weir::timeout(1s, weir::spawn(returns));
    EXPECT_EQ(value, 8);
    WEIR_EXPECT_THROW(weir::timeout(1s, weir::spawn(throws)), std::runtime_error);
    co_await weir::sleep(1s);
}

WEIR_TEST(Semantics, WF_04) {
    for (const auto limit : {0s, -1s}) {
        auto finished = weir::spawn([]() -> task<int> { co_return 2; });
        co_await finished;
        const int got = co_await weir::timeout(limit, finished);
        EXPECT_EQ(got, 2);

        bool started = false;
        auto work = [&]() -> task<int> {
            started = true;
            co_return 1;
        };
        WEIR_EXPECT_THROW(weir::timeout(limit, work()), weir::timed_out);
        EXPECT_FALSE(started);

        bool cleaned = false;
        auto running = [&]() -> task<> {
            auto cleanup = [&]() -> task<> {
                co_await weir::sleep(1s);
                cleaned = true;
            };
            co_await weir::finally(weir::sleep_forever(), cleanup);
        };
        auto task_of_its_own = weir::spawn(running);
        co_await weir::sleep(1s);
        WEIR_EXPECT_THROW(weir::timeout(limit, task_of_its_own), weir::timed_out);
        EXPECT_TRUE(task_of_its_own.cancelled());
        EXPECT_TRUE(cleaned) << "cancelled, awaited, then timed_out";
    }
}

WEIR_TEST(Semantics, WF_05) {
    for (const bool limited : {false, true}) {
        bool cleaned = false;
        auto inner_body = [&]() -> task<> {
            auto cleanup = [&]() -> task<> {
                co_await weir::sleep(1s);
                cleaned = true;
            };
            co_await weir::finally(weir::sleep_forever(), cleanup);
        };
        auto inner = weir::spawn(inner_body);
        auto body = [&]() -> task<> {
            if (limited) {
                co_await weir::timeout(1h, inner);
            } else {
                co_await weir::timeout_at(weir::clock::time_point::max(), inner);
            }
        };
        auto caller = weir::spawn(body);
        co_await weir::sleep(1s);
        caller.cancel();
        co_await caller.wait();
        EXPECT_TRUE(caller.cancelled());
        EXPECT_TRUE(inner.cancelled());
        EXPECT_TRUE(cleaned);
    }
}

WEIR_TEST(Semantics, WF_07) {
    for (const auto limit : {1s, 0s}) {
        auto inner = weir::spawn(weir::sleep(5s, 6));
        WEIR_EXPECT_THROW(weir::timeout(limit, weir::shield(inner)), weir::timed_out);
        EXPECT_FALSE(inner.done());
        EXPECT_EQ(inner.cancelling(), 0u);
        const int got = co_await inner;
        EXPECT_EQ(got, 6);
    }
}

}  // namespace
