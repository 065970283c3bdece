// SPDX-License-Identifier: MIT
#include <weir/spawn.hpp>
#include <weir/testing/testing.hpp>

#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;

weir::task<std::string> joined(std::string first, std::string second) {
    co_await weir::yield();
    co_return first + second;
}

WEIR_TEST(Spawn, OwnsTheArguments) {
    weir::handle<std::string> started;
    {
        const std::string first = "one and long enough to be on the heap ";
        started = weir::spawn(&joined, first, std::string("two"));
    }
    const std::string got = co_await started;
    EXPECT_EQ(got, "one and long enough to be on the heap two");
}

WEIR_TEST(Spawn, OwnsTheCallable) {
    auto started = weir::spawn([owned = std::make_unique<int>(6)]() -> weir::task<int> {
        co_await weir::yield();
        co_return *owned;
    });
    const int got = co_await started;
    EXPECT_EQ(got, 6);
}

WEIR_TEST(Spawn, StartsOnALaterTurnOrAtOnce) {
    int steps = 0;
    auto step = [&]() -> weir::task<> {
        ++steps;
        co_return;
    };
    auto later = weir::spawn(step);
    EXPECT_EQ(steps, 0);
    auto eager = weir::spawn({.start = weir::start::eager}, step);
    EXPECT_EQ(steps, 1);
    EXPECT_TRUE(eager.done());
    co_await later;
    EXPECT_EQ(steps, 2);
}

WEIR_TEST(Spawn, StartsAtOnceInsideATaskThatDoesToo) {
    std::string order;
    auto inner = [&]() -> weir::task<> {
        order += "inner ";
        co_return;
    };
    auto outer = [&]() -> weir::task<> {
        weir::spawn({.start = weir::start::eager}, inner);
        order += "outer ";
        co_return;
    };
    weir::spawn({.start = weir::start::eager}, outer);
    weir::spawn({.start = weir::start::eager}, inner);
    EXPECT_EQ(order, "inner outer inner ");
    co_return;
}

weir::task<> start_eagerly(int more, int& started) {
    ++started;
    if (more > 0) {
        weir::handle<> inner =
            weir::spawn(start_eagerly(more - 1, started), {.start = weir::start::eager});
        co_await inner;
    }
}

// More than the machine stack could hold.
WEIR_TEST(Spawn, EagerStartsMayBeNestedAtWill) {
    int started = 0;
    co_await start_eagerly(100'000, started);
    EXPECT_EQ(started, 100'001);
}

WEIR_TEST(Spawn, NamesTheTask) {
    auto started = weir::spawn({.name = "worker"}, &joined, "a", "b");
    EXPECT_EQ(started.name(), "worker");
    (void)co_await started;
}

TEST(Spawn, NeedsALoop) {
    EXPECT_THROW(weir::spawn(&joined, "a", "b"), weir::loop_error);
}

}  // namespace
