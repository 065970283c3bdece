// SPDX-License-Identifier: MIT
// After warm-up, the common operations of the runtime allocate nothing.

#include "allocations/counting.hpp"

namespace {

using namespace std::chrono_literals;
using counting::in_steady_state;
using weir::task;

task<int> leaf(int value) {
    co_return value;
}
task<int> nested(int depth) {
    if (depth == 0) {
        co_return 0;
    }
    const int below = co_await nested(depth - 1);
    co_return below + 1;
}
task<> yields() {
    co_await weir::yield();
}
task<> sleeps_long() {
    co_await weir::sleep(1h);
}
task<> nested_sleep() {
    co_await sleeps_long();
}

TEST(Allocations, AreCounted) {
    const std::uint64_t before = counting::allocations();
    delete new int;
    auto* volatile memory = std::malloc(10);
    std::free(memory);
    EXPECT_GE(counting::allocations() - before, 1u);
    auto once = []() -> task<> {
        auto* volatile number = new int(3);
        delete number;
        co_return;
    };
    EXPECT_EQ(in_steady_state(once), 2000u);
}

TEST(Allocations, Yield) {
    auto once = []() -> task<> { co_await weir::yield(); };
    EXPECT_EQ(in_steady_state(once), 0u);
    EXPECT_EQ(in_steady_state(once, weir::driver_kind::automatic), 0u);
}

TEST(Allocations, Await) {
    auto once = []() -> task<> {
        const int value = co_await leaf(3);
        EXPECT_EQ(value, 3);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, DeepAwait) {
    auto once = []() -> task<> {
        const int depth = co_await nested(100);
        EXPECT_EQ(depth, 100);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, SpawnAndJoin) {
    auto once = []() -> task<> {
        auto handle = weir::spawn(yields());
        co_await handle;
        auto second = weir::spawn(leaf, 3);
        const int value = co_await std::move(second);
        EXPECT_EQ(value, 3);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
    EXPECT_EQ(in_steady_state(once, weir::driver_kind::automatic), 0u);
}

TEST(Allocations, SpawnEagerly) {
    auto once = []() -> task<> {
        auto handle = weir::spawn(yields(), {.start = weir::start::eager});
        co_await handle;
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Sleep) {
    auto once = []() -> task<> { co_await weir::sleep(1ms); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, RealSleep) {
    auto once = []() -> task<> { co_await weir::sleep(1us); };
    weir::loop_options options;
    options.debug = false;
    EXPECT_EQ(weir::run(counting::steady(once, 100), std::move(options)), 0u);
}

TEST(Allocations, TimerArmedAndDisarmed) {
    auto once = []() -> task<> {
        auto sleeper = weir::spawn(sleeps_long());
        co_await weir::yield();
        sleeper.cancel();
        co_await sleeper.wait();
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, TimeoutInTime) {
    auto once = []() -> task<> {
        const int value = co_await weir::timeout(1s, leaf(3));
        EXPECT_EQ(value, 3);
        co_await weir::timeout(1s, weir::sleep(1ms));
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

task<int> late() {
    co_await weir::sleep(1h);
    co_return 1;
}

// weir::timeout itself throws on expiry, and C++ allocates exceptions.
TEST(Allocations, TimeUp) {
    auto once = []() -> task<> {
        const int value = co_await weir::timeout_or(1ms, late(), 2);
        EXPECT_EQ(value, 2);
        weir::cancel_scope scope(1ms);
        const bool in_time = co_await scope.run(weir::sleep(1h));
        EXPECT_FALSE(in_time);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, CancelAndWait) {
    auto once = []() -> task<> {
        auto victim = weir::spawn(nested_sleep());
        co_await weir::yield();
        victim.cancel();
        co_await victim.wait();
        EXPECT_TRUE(victim.cancelled());
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Group) {
    auto once = []() -> task<> {
        auto body = [](weir::task_group& group) -> task<> {
            group.spawn(yields());
            group.spawn(leaf, 3);
            co_return;
        };
        co_await weir::with_group(body);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Boundaries) {
    auto once = []() -> task<> {
        const int shielded = co_await weir::shield(leaf(1));
        const auto settled = co_await weir::settle(leaf(2));
        const auto seen = co_await weir::intercept(leaf(3));
        const int caught = co_await weir::catchable(leaf(4));
        EXPECT_EQ(shielded + settled.value() + seen.value() + caught, 10);
        auto cleanup = []() -> task<> { co_await weir::yield(); };
        co_await weir::finally(yields(), cleanup);
    };
    EXPECT_EQ(in_steady_state(once), 0u);
}

TEST(Allocations, Idle) {
    auto once = []() -> task<> { co_await weir::testing::settle_all(); };
    EXPECT_EQ(in_steady_state(once), 0u);
}

}  // namespace
